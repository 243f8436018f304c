package table

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type castVector struct {
	From, To Type
	Legal    bool
	Values   [][2]json.RawMessage
}

// TestCastVectors casts what Paimon cast. Where Paimon throws, so do we.
func TestCastVectors(t *testing.T) {
	casts, values := 0, 0
	jsonLines(t, "casts.jsonl.gz", func(c castVector) {
		if c.From.Nested() {
			_, err := CastVector(&Vector{Layout: Bytes}, c.From, c.To)
			require.ErrorContains(t, err, "no such cast")
			return
		}
		casts++
		require.True(t, CanCast(c.From, c.To), "%s to %s", c.From, c.To)
		for _, pair := range c.Values {
			in := string(pair[0])
			if in == "-0" && (c.From.Root == Float || c.From.Root == Double) {
				continue // Jackson read it as an integer
			}
			values++
			got, err := CastVector(cells(t, c.From, in, "null"), c.From, c.To)
			if strings.HasPrefix(string(pair[1]), `{"error"`) {
				require.Error(t, err, "%s %s to %s", c.From, in, c.To)
				continue
			}
			if errors.Is(err, errTimeRange) {
				require.Contains(t, in, "9223372036854775") // there Paimon wraps
				continue
			}
			require.NoError(t, err, "%s %s to %s", c.From, in, c.To)
			require.Equal(t, 2, got.Len())
			if strings.Contains(string(pair[1]), "\ufffd") {
				continue // bytes that are no text
			}
			want := canonicalOf(t, c.To, pair[1])
			require.Equal(t, want, canonical(c.To, got, 0), "%s %s to %s", c.From, in, c.To)
			require.True(t, got.IsNull(1))
		}
	})
	require.Greater(t, casts, 300)
	t.Logf("%d casts, %d values", casts, values)
}

// canonicalOf spells JSON canonically again.
func canonicalOf(t *testing.T, typ Type, raw []byte) string {
	t.Helper()
	if typ.Root == Float || typ.Root == Double {
		return string(raw)
	}
	return canonical(typ, cells(t, typ, string(raw)), 0)
}
