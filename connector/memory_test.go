package connector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBudgetIsShared: what fetches and files in the making may take beyond a constant is not there for rows.
func TestBudgetIsShared(t *testing.T) {
	for _, c := range []struct{ memory, fetch, buffers, encoding int64 }{
		{16, 2, 15, 32},
		{64, 8, 60, 32},
		{256, 16, 240, 32},
		{256, 4, 252, 32},
		{1024, 16, 1024 - 16 - 96, 128},
	} {
		cfg := Config{Memory: c.memory << 20, FetchBytes: c.fetch << 20}
		require.Equal(t, c.buffers<<20, cfg.buffers(), "%+v", c)
		require.Equal(t, c.encoding<<20, cfg.encoding(), "%+v", c)
	}
}
