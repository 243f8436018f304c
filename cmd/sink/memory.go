package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
)

// Beside the budget there are the tables' metadata, the clients' own buffers, and what waits to be collected. The program itself
// takes some 20 MiB more, of which the collector does not know.
const memoryBeside = 80 << 20

// limitMemory has the garbage collector keep the process near the budget, and below what the container allows. GOMEMLIMIT
// in the environment goes first.
func limitMemory(budget int64, logger zerolog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := memoryLimit(budget, cgroupLimit(os.ReadFile))
	if limit < budget+memoryBeside {
		logger.Warn().Int64("memory_bytes", budget).Int64("limit_bytes", limit).
			Msg("the container's memory limit leaves little room beside `memory`: lower `memory`, or give the container 128MiB and a quarter more than that")
	}
	debug.SetMemoryLimit(limit)
}

// memoryLimit is the budget and what is beside it; but not more than nine tenths of the container's limit.
func memoryLimit(budget, container int64) int64 {
	limit := int64(math.MaxInt64)
	if budget < math.MaxInt64/2 {
		limit = budget + memoryBeside
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
