package config

import (
	"fmt"
	"io"
)

// mask is what a secret prints as.
const mask = "***"

// Secret is a text that is never printed: every way of formatting or encoding it gives "***", or nothing when empty. The
// text is behind a pointer because fmt goes past the methods of a value in an unexported field.
type Secret struct{ text *string }

// NewSecret returns a secret with the given text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text. Hand it to the one library that needs it, never to a format.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether there is any text.
func (s Secret) IsSet() bool { return s.text != nil }

// String returns the mask.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return mask
}

// Format prints the mask for every verb, so that %#v and %x show no more than %s.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the mask; JSON, YAML and loggers use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
