package object_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

// A store's time is the store's, whatever this machine's clock says, and nothing is left of having asked for it.
func TestClock(t *testing.T) {
	s := object.NewMem()
	want := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return want }
	got, err := object.Clock(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for info, err := range s.List(t.Context(), "") {
		require.NoError(t, err)
		require.Fail(t, "left over", "%s", info.Name)
	}
}
