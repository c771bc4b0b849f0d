package wire

import "encoding/json"

// RawJSON is any JSON value, kept verbatim.
type RawJSON = json.RawMessage
