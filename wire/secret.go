package wire

import "fmt"

// Redacted stands wherever a secret would have been printed.
const Redacted = "[redacted]"

// Secret is a string that redacts itself in logs, JSON and formatted output.
// Only Reveal gives it away; call it where the agent is answered, nowhere else.
// Compare secrets by what Reveal says, not by ==.
type Secret struct {
	// A pointer, because fmt prints unexported fields of a struct around it
	// without asking their methods: it then prints an address.
	value *string
}

// NewSecret hides s.
func NewSecret(s string) Secret { return Secret{&s} }

// Reveal is what was hidden.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String is the redaction.
func (Secret) String() string { return Redacted }

// GoString is the redaction.
func (Secret) GoString() string { return Redacted }

// Format is the redaction, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// MarshalText is the redaction, so that no encoder gives the secret away.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
