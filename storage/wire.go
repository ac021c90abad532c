// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Records are read in Kubernetes' protobuf encoding, which saves the outer base64 of a
// Secret and parsing its data as JSON. The fields that are needed have the same numbers in
// Secrets and ConfigMaps:
//
//	Unknown { 2: raw }                      after the four bytes "k8s\0"
//	Secret  { 1: metadata, 2: map data, 3: type (of a Secret only) }
//	                                        a map entry is { 1: key, 2: value }
//	ObjectMeta { 5: uid, 6: resourceVersion, 11: map labels, 12: map annotations }

var errMalformed = errors.New("malformed or truncated response")

// decodedObject is the part of a Secret or ConfigMap that is needed.
type decodedObject struct {
	uid, version string
	secretType   string
	labels       map[string]string
	annotations  map[string]string
	data         []byte
}

func decodeObject(body []byte, kind string) (decodedObject, error) {
	raw, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return decodeJSON(body)
	}
	secret, err := lastField(raw, 2)
	if err != nil {
		return decodedObject{}, err
	}
	o := decodedObject{labels: map[string]string{}, annotations: map[string]string{}}
	err = eachField(secret, func(num uint64, value []byte) error {
		switch num {
		case 1:
			return eachField(value, func(num uint64, entry []byte) error {
				into := o.labels
				switch num {
				case 5:
					o.uid = string(entry)
					return nil
				case 6:
					o.version = string(entry)
					return nil
				case 11:
				case 12:
					into = o.annotations
				default:
					return nil
				}
				k, v, err := mapEntry(entry)
				into[string(k)] = string(v)
				return err
			})
		case 2:
			k, v, err := mapEntry(value)
			if string(k) == dataKey {
				o.data = v
			}
			return err
		case 3:
			if kind == "Secret" {
				o.secretType = string(value)
			}
		}
		return nil
	})
	if err == nil && o.data == nil && formatOf(o.secretType) == "" {
		err = errNoData
	}
	return o, err
}

var errNoData = errors.New("contains no release (key \"release\" is missing)")

// decodeJSON decodes a Secret, whose data is base64, or a ConfigMap.
func decodeJSON(body []byte) (decodedObject, error) {
	var o struct {
		Kind     string            `json:"kind"`
		Metadata objectMeta        `json:"metadata"`
		Data     map[string]string `json:"data"`
		Type     string            `json:"type"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return decodedObject{}, err
	}
	text, ok := o.Data[dataKey]
	if !ok && formatOf(o.Type) == "" {
		return decodedObject{}, errNoData
	}
	out := decodedObject{
		uid: o.Metadata.UID, version: o.Metadata.Version, secretType: o.Type,
		labels: o.Metadata.Labels, annotations: o.Metadata.Annotations, data: []byte(text),
	}
	if o.Kind == "ConfigMap" {
		return out, nil
	}
	var err error
	out.data, err = base64.StdEncoding.DecodeString(text)
	return out, err
}

func mapEntry(entry []byte) (key, value []byte, err error) {
	err = eachField(entry, func(num uint64, v []byte) error {
		switch num {
		case 1:
			key = v
		case 2:
			value = v
		}
		return nil
	})
	return key, value, err
}

func lastField(msg []byte, want uint64) (found []byte, err error) {
	err = eachField(msg, func(num uint64, v []byte) error {
		if num == want {
			found = v
		}
		return nil
	})
	return found, err
}

// eachField calls fn for each length-delimited field of a protobuf message.
func eachField(msg []byte, fn func(num uint64, value []byte) error) error {
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 {
			return errMalformed
		}
		msg = msg[n:]
		size := 0
		switch tag & 7 {
		case 0:
			if _, size = binary.Uvarint(msg); size <= 0 {
				return errMalformed
			}
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			length, n := binary.Uvarint(msg)
			if n <= 0 || length > uint64(len(msg)-n) {
				return errMalformed
			}
			if err := fn(tag>>3, msg[n:n+int(length)]); err != nil {
				return err
			}
			size = n + int(length)
		default:
			return errMalformed
		}
		if size > len(msg) {
			return errMalformed
		}
		msg = msg[size:]
	}
	return nil
}
