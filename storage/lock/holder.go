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

// What guards a release while an operation is in progress.
const (
	ByLease  = "lease"
	ByRecord = "record"
)

// holderVersion is the version of the text that a holder is written as.
const holderVersion = 1

// Holder says who is at work on a release. Its text is on the lease and on
// the pending record.
type Holder struct {
	Version int `json:"v"`
	// Guard is what others are to watch: ByLease or ByRecord.
	Guard string `json:"guard"`
	// ID is one of its kind among all locks ever taken.
	ID string `json:"id"`
	// Who is a name for people, user@host.
	Who string `json:"who"`
	process
	// Doing is the operation, Since when it began, by the holder's clock.
	Doing string    `json:"doing,omitempty"`
	Since time.Time `json:"since"`
}

// process says which process it is, so that a client on the same machine
// can see whether it is still there. A process number alone is used again and
// again, and stands for another process on every machine and in every
// container.
type process struct {
	// Machine stands for this start of this machine and, in it, for what one
	// process number means; "" where that is not known.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Start is when the process began, in the kernel's words.
	Start string `json:"start,omitempty"`
}

// self is the client that runs this.
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

// String is the holder as one line of text, for [ParseHolder].
func (h Holder) String() string {
	text, err := json.Marshal(h)
	if err != nil {
		return "" // a time from beyond the year 9999
	}
	return string(text)
}

// ParseHolder reads what [Holder.String] wrote; ok is false for any other
// text.
func ParseHolder(text string) (h Holder, ok bool) {
	if json.Unmarshal([]byte(text), &h) != nil || h.ID == "" {
		return Holder{}, false
	}
	return h, true
}

// Name is the holder in people's words: "alice@laptop (pid 12)".
func (h Holder) Name() string {
	switch {
	case h.Who == "":
		return "someone"
	case h.PID == 0:
		return h.Who
	}
	return fmt.Sprintf("%s (pid %d)", h.Who, h.PID)
}

// identity is what is in the lease's own field.
func (h Holder) identity() string { return h.Name() + " " + h.ID }

// what is the operation as a noun.
func (h Holder) what() string {
	if h.Doing == "" {
		return "what was being done"
	}
	return "the " + h.Doing
}

// gerund is the operation as something that goes on.
func gerund(doing string) string {
	switch doing {
	case "":
		return "at work on"
	case "upgrade":
		return "upgrading"
	case "rollback":
		return "rolling back"
	}
	return doing + "ing"
}

// clock is a time as people say it: with the day where that is not today.
func clock(t time.Time) string {
	t = t.Local()
	switch now := time.Now(); {
	case t.IsZero():
		return "a time that is not known"
	case now.Format(time.DateOnly) == t.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
