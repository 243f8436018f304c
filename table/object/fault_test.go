package object_test

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table/object"
)

func TestFaultEffects(t *testing.T) {
	ctx := t.Context()
	has := func(s object.Store, name string) bool {
		_, err := s.Get(ctx, name)
		return err == nil
	}
	for _, test := range []struct {
		effect object.Effect
		want   error
		stored bool
	}{
		{object.FailBefore, object.ErrInjected, false},
		{object.FailAfter, object.ErrInjected, true},
		{object.LieExist, fs.ErrExist, true},
		{object.Tear, object.ErrInjected, false},
		{object.CrashBefore, object.ErrInjected, false},
		{object.CrashAfter, object.ErrInjected, true},
		{object.DelayOnly, nil, true},
	} {
		t.Run(test.effect.String(), func(t *testing.T) {
			m := object.NewMem()
			f := object.NewFault(m, object.Rule{Ops: []object.Op{object.OpCreate}, Path: "snapshot-*", Effect: test.effect, Delay: time.Millisecond})
			require.ErrorIs(t, f.Create(ctx, "t/snapshot/snapshot-1", nil), test.want)
			require.Equal(t, test.stored, has(m, "t/snapshot/snapshot-1"))
			require.Equal(t, 1, f.Fired())
			err := f.Put(ctx, "t/other", nil)
			if test.effect == object.CrashBefore || test.effect == object.CrashAfter {
				require.ErrorIs(t, err, object.ErrInjected)
				require.False(t, has(m, "t/other"))
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestFaultNth(t *testing.T) {
	ctx := t.Context()
	steps := func(s object.Store) error {
		w, err := s.Writer(ctx, "data")
		if err != nil {
			return err
		}
		defer w.Abort()
		if _, err := w.Write([]byte("rows")); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := s.Copy(ctx, "data", "changelog"); err != nil {
			return err
		}
		if err := s.Create(ctx, "snapshot-1", nil); err != nil {
			return err
		}
		return s.Put(ctx, "LATEST", nil)
	}
	want := [][]string{
		{"writer data (crashes before)"},
		{"writer data", "abort data"}, // the write is no line of its own
		{"writer data", "close data (crashes before)"},
		{"writer data", "close data", "copy changelog (crashes before)"},
		{"writer data", "close data", "copy changelog", "create snapshot-1 (crashes before)"},
		{"writer data", "close data", "copy changelog", "create snapshot-1", "put LATEST (crashes before)"},
		{"writer data", "close data", "copy changelog", "create snapshot-1", "put LATEST"},
	}
	for n := 1; ; n++ {
		f := object.NewFault(object.NewMem(), object.Rule{Nth: n, Effect: object.CrashBefore})
		err := steps(f)
		if n != 2 {
			require.Equal(t, want[n-1], f.Log())
		}
		if f.Fired() == 0 {
			require.NoError(t, err)
			require.Len(t, want, n)
			break
		}
		require.ErrorIs(t, err, object.ErrInjected)
	}
}

func TestFaultTears(t *testing.T) {
	ctx := t.Context()
	m := object.NewMem()
	f := object.NewFault(m, object.Rule{Ops: []object.Op{object.OpWrite, object.OpDelete}, Effect: object.Tear})
	w, err := f.Writer(ctx, "data")
	require.NoError(t, err)
	n, err := w.Write(make([]byte, 10))
	require.ErrorIs(t, err, object.ErrInjected)
	require.Equal(t, 5, n)
	w.Abort()
	for _, name := range []string{"a", "b", "c", "d"} {
		require.NoError(t, m.Put(ctx, name, nil))
	}
	require.ErrorIs(t, f.Delete(ctx, "a", "b", "c", "d"), object.ErrInjected)
	var left []string
	for info, err := range m.List(ctx, "") {
		require.NoError(t, err)
		left = append(left, info.Name)
	}
	require.Equal(t, []string{"c", "d"}, left)

	f = object.NewFault(m, object.Rule{Ops: []object.Op{object.OpGet}, Effect: object.DelayOnly, Delay: time.Hour})
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = f.Get(ctx, "c")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	f.Crash()
	_, err = f.Get(t.Context(), "c")
	require.ErrorIs(t, err, object.ErrInjected)
}
