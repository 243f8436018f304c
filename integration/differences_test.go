//go:build integration

package integration

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// knownDifferences are the cells of b_types that no sink can show as the source holds them, since the events do not say
// it. The numbers are those of testdata/README.md.
func knownDifferences(db, name, encoding string) differences {
	return differences{}
}
