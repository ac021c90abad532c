// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"time"
)

// The values of Holder.Guard.
const (
	ByLease  = "lease"
	ByRecord = "record"
)

// holderVersion is the version of the JSON encoding of a holder.
const holderVersion = 1

// Holder identifies the client that works on a release. Its JSON is on the lease and on the
// pending record.
type Holder struct {
	Version int `json:"v"`
	// Guard is the object with the heartbeats: ByLease or ByRecord.
	Guard string `json:"guard"`
	// ID is unique among all locks.
	ID string `json:"id"`
	// Who is the user and host, user@host.
	Who string `json:"who"`
	process
	// Doing is the operation. Since is when it began, by the holder's clock.
	Doing string    `json:"doing,omitempty"`
	Since time.Time `json:"since"`
}

// process identifies a process, so that another client on the same machine can find out whether
// it is still running. The PID alone does not: PIDs are reused, and differ between machines and
// containers.
type process struct {
	// Machine identifies the boot of the machine and the PID namespace, or is "" if they are
	// not known.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Start is when the process started, as in /proc/PID/stat.
	Start string `json:"start,omitempty"`
}

// self returns the holder for this process.
func (l *Locker) self(doing string) Holder {
	who := l.options.Who
	if who == "" {
		who = userAtHost()
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return Holder{
		Version: holderVersion, Guard: ByLease, ID: hex.EncodeToString(id), Who: who,
		process: thisProcess(), Doing: doing, Since: time.Now().UTC().Truncate(time.Millisecond),
	}
}

func userAtHost() string {
	name := "someone"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// String returns the holder as one line of JSON, for [ParseHolder].
func (h Holder) String() string {
	text, err := json.Marshal(h)
	if err != nil {
		return "" // a time from beyond the year 9999
	}
	return string(text)
}

// ParseHolder parses the result of [Holder.String]; ok is false for any other text.
func ParseHolder(text string) (h Holder, ok bool) {
	if json.Unmarshal([]byte(text), &h) != nil || h.ID == "" {
		return Holder{}, false
	}
	return h, true
}

// Name returns the name of the holder for messages: "alice@laptop (pid 12)".
func (h Holder) Name() string {
	switch {
	case h.Who == "":
		return "someone"
	case h.PID == 0:
		return h.Who
	}
	return fmt.Sprintf("%s (pid %d)", h.Who, h.PID)
}

// identity returns the lease's holderIdentity.
func (h Holder) identity() string { return h.Name() + " " + h.ID }

// what returns the operation as a noun.
func (h Holder) what() string {
	if h.Doing == "" {
		return "an operation"
	}
	return "the " + h.Doing
}

// gerund returns the operation as a participle: "upgrading".
func gerund(doing string) string {
	switch doing {
	case "":
		return "working on"
	case "upgrade":
		return "upgrading"
	case "rollback":
		return "rolling back"
	case "mv":
		return "moving objects of"
	case "rename":
		return "renaming"
	}
	return doing + "ing"
}

// clock formats a time in the local time zone, with the date unless it is today.
func clock(t time.Time) string {
	t = t.Local()
	switch now := time.Now(); {
	case t.IsZero():
		return "an unknown time"
	case now.Format(time.DateOnly) == t.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
