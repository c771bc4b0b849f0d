package wire

import "time"

// Time is an instant on the wire: RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// timeLayout has exactly three fraction digits, so that equal instants are
// equal strings.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// At is t as it crosses the wire: in UTC, cut to the millisecond.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// MarshalJSON renders the instant in UTC with milliseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return Encode(t)
}

// UnmarshalJSON reads an RFC 3339 instant.
func (t *Time) UnmarshalJSON(b []byte) error {
	return unmarshal(b, t)
}

// Usage is token and cost accounting of one message. Tokens; cost in US dollars.
type Usage struct {
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	CacheRead  int64    `json:"cacheRead"`
	CacheWrite int64    `json:"cacheWrite"`
	TotalCost  *float64 `json:"totalCost,omitempty"`
}

// SessionUsage is what a session has spent, and, while it is live, how full its
// context is.
type SessionUsage struct {
	Input      int64         `json:"input"`
	Output     int64         `json:"output"`
	CacheRead  int64         `json:"cacheRead"`
	CacheWrite int64         `json:"cacheWrite"`
	TotalCost  *float64      `json:"totalCost,omitempty"`
	Context    *ContextUsage `json:"context,omitempty"`
}

// ContextUsage is how many tokens of the context window are in use.
type ContextUsage struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
}

// ModelState is the model a session runs.
type ModelState struct {
	Provider      string `json:"provider"`
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	ThinkingLevel string `json:"thinkingLevel"`
	ContextWindow int64  `json:"contextWindow,omitempty"`
}

// PermissionModeState is the permission mode and those on offer.
type PermissionModeState struct {
	Mode      string   `json:"mode"`
	Available []string `json:"available"`
}

// DefaultPermissionMode is the state of a thread that never recorded one.
func DefaultPermissionMode() PermissionModeState {
	return PermissionModeState{Mode: "default", Available: []string{}}
}

// Image is a picture in a prompt. Data is base64.
type Image struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}
