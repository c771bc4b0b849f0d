package proc

import (
	"encoding/json"
	"time"
)

// What host and reaper say to each other: one JSON value a line. The host says
// one order with a spec, then stops; the reaper says at most one started, at most
// one exited, and last ended. Whatever a process is made of is bytes, not text.

// order is from the host.
type order struct {
	Spec *spec `json:"spec,omitempty"`
	Stop *stop `json:"stop,omitempty"`
}

type spec struct {
	Path  []byte        `json:"path"`
	Args  [][]byte      `json:"args"`
	Env   [][]byte      `json:"env"`
	Dir   []byte        `json:"dir"`
	Grace time.Duration `json:"grace"`
}

// stop ends the tree; of several the earliest deadline holds.
type stop struct {
	Grace time.Duration `json:"grace"`
}

// word is from the reaper.
type word struct {
	Started int     `json:"started,omitempty"` // the agent's pid
	Refused string  `json:"refused,omitempty"` // why it could not be started
	Exited  *Exit   `json:"exited,omitempty"`
	Ended   *ending `json:"ended,omitempty"` // the last word
}

// ending is what a stop did. Left counts what could not be ended.
type ending struct {
	Processes []ended `json:"processes"`
	Left      int     `json:"left"`
}

type ended struct {
	PID     int    `json:"pid"`
	Command []byte `json:"command"`
	Signal  string `json:"signal"`
}

func toBytes(in []string) [][]byte {
	out := make([][]byte, len(in))
	for i, s := range in {
		out[i] = []byte(s)
	}
	return out
}

func toStrings(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}

func line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain structs are said
	}
	return append(b, '\n')
}
