package connector

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sink/commit"
)

// TestOutrun: checkpoints that another writer overtakes are read again, but not for ever.
func TestOutrun(t *testing.T) {
	var w worker
	require.False(t, w.outrun(commit.ErrFenced))
	require.False(t, w.company)
	overtaken := fmt.Errorf("commit: %w", commit.ErrOvertaken)
	require.True(t, readAgain(overtaken))
	for range maxOvertaken - 1 {
		require.False(t, w.outrun(overtaken))
		require.True(t, w.company)
	}
	require.True(t, w.outrun(overtaken))
}
