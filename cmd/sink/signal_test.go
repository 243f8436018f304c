package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStopTwice(t *testing.T) {
	signals := make(chan os.Signal, 2)
	stops := 0
	signals <- syscall.SIGTERM
	signals <- syscall.SIGTERM // the same stop, told twice
	time.AfterFunc(60*time.Millisecond, func() { signals <- os.Interrupt })
	require.Equal(t, os.Interrupt, stopTwice(signals, func() { stops++ }, 50*time.Millisecond))
	require.Equal(t, 1, stops)
}
