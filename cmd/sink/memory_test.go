package main

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryLimit(t *testing.T) {
	require.Equal(t, int64(256<<20+memoryBeside), memoryLimit(256<<20, math.MaxInt64))
	require.Equal(t, int64(320<<20)/10*9, memoryLimit(256<<20, 320<<20))
	require.Positive(t, memoryLimit(math.MaxInt64, math.MaxInt64))

	files := func(contents map[string]string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			if text, ok := contents[name]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("absent")
		}
	}
	require.Equal(t, int64(1<<30), cgroupLimit(files(map[string]string{"/sys/fs/cgroup/memory.max": "1073741824\n"})))
	require.Equal(t, int64(5), cgroupLimit(files(map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "5"})))
	require.Equal(t, int64(math.MaxInt64), cgroupLimit(files(map[string]string{"/sys/fs/cgroup/memory.max": "max\n"})))
	require.Equal(t, int64(math.MaxInt64), cgroupLimit(files(nil)))
}
