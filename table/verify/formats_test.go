package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// TestFormatsSound: tables in formats that are not read, with deletion vectors and with postponed buckets have no fault; what was not looked at is
// told.
func TestFormatsSound(t *testing.T) {
	store := scanTables(t, "formats-1.3.1.tar.gz")
	for name, told := range map[string][]string{
		"orc": {"file-format", "replay"}, "avro": {"file-format", "replay"}, "avro_append": {"file-format", "replay"}, "mixed": {"file-format", "replay"},
		"vectors": {"replay"}, "postpone": {"file-format", "replay"}, "postpone_parts": {"file-format", "replay"},
	} {
		s, found := verify(t, store, table.NewPath("g", name), Options{Replay: ReplayAll})
		require.Zero(t, s.Faults+s.Warnings, "%s: %v", name, found)
		require.Equal(t, told, codes(found, Info), "%s: %v", name, found)
		require.Zero(t, s.Replayed, name)
	}
}
