package object

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocalExplains(t *testing.T) {
	l := NewLocal("/var/lake")
	for err, text := range map[syscall.Errno]string{
		syscall.ENOSPC: "disk full: free space",
		syscall.EDQUOT: "disk full: free space",
		syscall.EROFS:  "read-only",
		syscall.EACCES: "no right to write below /var/lake",
	} {
		got := l.explain(fmt.Errorf("write: %w", err))
		require.ErrorContains(t, got, text)
		require.ErrorIs(t, got, err)
	}
}

// TestLocalCopyWays copies in each way that a file system may leave.
func TestLocalCopyWays(t *testing.T) {
	l := NewLocal(t.TempDir())
	require.NoError(t, l.Put(t.Context(), "a", []byte("rows")))
	require.NoError(t, l.Copy(t.Context(), "a", "b"))
	if l.noReflink.Load() {
		one, err := os.Stat(l.path("a"))
		require.NoError(t, err)
		two, err := os.Stat(l.path("b"))
		require.NoError(t, err)
		require.True(t, os.SameFile(one, two), "a hard link")
	}
	src, err := os.Open(l.path("a"))
	require.NoError(t, err)
	defer src.Close()
	dst, err := os.Create(filepath.Join(t.TempDir(), "c"))
	require.NoError(t, err)
	defer dst.Close()
	require.NoError(t, copyBytes(t.Context(), dst, src))
	got, err := os.ReadFile(dst.Name())
	require.NoError(t, err)
	require.Equal(t, "rows", string(got))
}

func TestRenameNew(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	require.NoError(t, os.WriteFile(a, []byte("a"), 0o666))
	require.NoError(t, renameNew(a, b))
	require.NoError(t, os.WriteFile(a, []byte("new"), 0o666))
	require.ErrorIs(t, renameNew(a, b), os.ErrExist)
}

// TestLocalDurable: what is stored, and what is deleted, is so after a power cut: its folder is synced before the call returns.
func TestLocalDurable(t *testing.T) {
	root := t.TempDir()
	l := NewLocal(root)
	require.NoError(t, l.Put(t.Context(), "a/first", []byte("x")))
	var synced []string
	l.sync = func(folder string) error {
		name, err := filepath.Rel(root, folder)
		require.NoError(t, err)
		synced = append(synced, filepath.ToSlash(name))
		return syncPath(folder)
	}
	for _, c := range []struct {
		what string
		do   func() error
		want []string
	}{
		{"put", func() error { return l.Put(t.Context(), "a/b", []byte("x")) }, []string{"a"}},
		{"create", func() error { return l.Create(t.Context(), "a/c", []byte("x")) }, []string{"a"}},
		{"copy", func() error { return l.Copy(t.Context(), "a/b", "a/d") }, []string{"a"}},
		{"in new folders", func() error { return l.Put(t.Context(), "e/f/g", []byte("x")) }, []string{"e", ".", "..", "e/f"}},
		{"delete", func() error { return l.Delete(t.Context(), "a/b", "a/c") }, []string{"a"}},
		{"delete in folders", func() error { return l.Delete(t.Context(), "a/d", "e/f/g") }, []string{"a", "e/f"}},
		{"delete what is not there", func() error { return l.Delete(t.Context(), "a/b", "none/b") }, nil},
	} {
		synced = nil
		require.NoError(t, c.do(), c.what)
		require.ElementsMatch(t, c.want, synced, c.what)
	}
	l.sync = func(string) error { return syscall.EIO }
	require.ErrorIs(t, l.Delete(t.Context(), "a/first"), syscall.EIO)
}
