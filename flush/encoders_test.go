package flush

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/object"
)

// TestEncodersBoundMemory: files wait for each other when they need more together than there is, and a file that needs more than
// there is has it alone.
func TestEncodersBoundMemory(t *testing.T) {
	e := NewEncoders(4, 100)
	waits := func(need int64) {
		t.Helper()
		if e.files.TryAcquire(1) {
			defer e.files.Release(1)
			require.False(t, e.bytes.TryAcquire(need), "there is room for %d", need)
		}
	}
	take := func(need int64) (release func()) {
		t.Helper()
		release, err := e.Take(t.Context(), need)
		require.NoError(t, err)
		return release
	}
	first, second := take(60), take(40)
	waits(1)
	first()
	third := take(60)
	second()
	third()

	large := take(1 << 40)
	waits(1)
	large()

	few := make([]func(), 4)
	for i := range few {
		few[i] = take(1)
	}
	waits(1)
	for _, release := range few {
		release()
	}
	take(100)()
}

// TestDensity: rows are taken for ones that do not compress until a file of the table tells.
func TestDensity(t *testing.T) {
	var d density
	require.EqualValues(t, encoderBytes+2*(4<<20), d.need(4<<20))
	require.EqualValues(t, encoderBytes+mostEncodedBytes, d.need(1<<40))
	d.learn(1000, 2000) // too few to tell
	require.EqualValues(t, encoderBytes+2*(4<<20), d.need(4<<20))
	d.learn(8<<20, 1<<20)
	require.EqualValues(t, encoderBytes+1<<20, d.need(4<<20))
}

// TestFlushLearnsDensity: a flush tells what the next one needs.
func TestFlushLearnsDensity(t *testing.T) {
	w, err := New(Config{Schema: orders(t, table.BigInt), Store: object.NewMem(), Path: "db.db/t"})
	require.NoError(t, err)
	var next int64
	addOrders(t, w, newRand(), 20_000, 1000, &next)
	cells := w.BufferedBytes()
	before := w.plan.density.need(cells)
	_, err = w.Seal().Flush(t.Context())
	require.NoError(t, err)
	require.Less(t, w.plan.density.need(cells)-encoderBytes, (before-encoderBytes)/2, "these rows compress")
	release, err := w.plan.encoders.Take(t.Context(), 1)
	require.NoError(t, err)
	release()
}
