package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// Beside the buffers there are the Kafka client, the tables' metadata and the program itself.
const memoryBeside = 64 << 20

// limitMemory has the garbage collector keep the process below twice the budget of its buffers, and below what the
// container allows. GOMEMLIMIT in the environment goes first.
func limitMemory(budget int64, logger zerolog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := memoryLimit(budget, cgroupLimit(os.ReadFile))
	if limit < budget+memoryBeside {
		logger.Warn().Int64("memory_bytes", budget).Int64("limit_bytes", limit).
			Msg("the container's memory limit leaves little room beside `memory`: lower `memory`, or give the container twice as much")
	}
	debug.SetMemoryLimit(limit)
}

// memoryLimit is half as much again as the budget, for what waits to be collected, and a little; but not more than nine tenths of
// the container's limit.
func memoryLimit(budget, container int64) int64 {
	limit := int64(math.MaxInt64)
	if budget < math.MaxInt64/2 {
		limit = budget + budget/2 + memoryBeside
	}
	return min(limit, container/10*9)
}

// cgroupLimit is the memory limit of the process's container; the largest number where there is none. Files: version 2
// and version 1 of Linux's control groups, as a container sees its own.
func cgroupLimit(readFile func(string) ([]byte, error)) int64 {
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := readFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return math.MaxInt64
}
