package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const text = "hunter2"
	type hidden struct{ s Secret }
	type shown struct{ S Secret }
	s := NewSecret(text)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10v", "%T", "%p"} {
		for _, v := range []any{s, &s, hidden{s}, &hidden{s}, shown{s}, []Secret{s}, map[string]Secret{"a": s}, []hidden{{s}}} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	j, err := json.Marshal(shown{s})
	require.NoError(t, err)
	require.JSONEq(t, `{"S":"***"}`, string(j))
	y, err := yaml.Marshal(shown{s})
	require.NoError(t, err)
	out.Write(y)
	require.NotContains(t, out.String(), text)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", text))
	require.NotContains(t, out.String(), fmt.Sprintf("%X", text))
	require.Equal(t, "***", s.String())

	require.Equal(t, text, s.Reveal())
	require.True(t, s.IsSet())
	require.False(t, NewSecret("").IsSet())
	require.Empty(t, NewSecret("").Reveal())
	require.Empty(t, fmt.Sprint(NewSecret("")))
}
