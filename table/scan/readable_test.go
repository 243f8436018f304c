package scan

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckReaders: options by which Paimon's readers return other rows are told, and those by which they do not are not.
func TestCheckReaders(t *testing.T) {
	newest, first := At{}, At{Snapshot: 1}
	for _, c := range []struct {
		options string
		at      At
		want    string // "": read
	}{
		{"", newest, ""},
		{"scan.mode=latest-full", newest, ""},
		{"scan.mode=FULL", newest, ""},
		{"scan.fallback-branch=", newest, ""},
		{"scan.mode=from-snapshot scan.snapshot-id=1", newest, "option scan.snapshot-id is 1"},
		{"scan.mode=compacted-full", newest, "option scan.mode is compacted-full"},
		{"scan.mode=compacted-full", first, ""},
		{"incremental-between=1,2", newest, "option incremental-between is 1,2"},
		{"scan.tag-name=t", first, ""},
		{"scan.fallback-branch=old", newest, "option scan.fallback-branch is old"},
		{"scan.fallback-branch=old", first, "option scan.fallback-branch is old"},
		{"scan.bucket=0", first, "option scan.bucket is 0"},
	} {
		tab := openGolden(t, newWindow(1, all), "dedup")
		tab.schema = tab.schema.Clone()
		for _, option := range strings.Fields(c.options) {
			key, value, _ := strings.Cut(option, "=")
			tab.schema.Options[key] = value
		}
		err := tab.CheckReaders(c.at)
		if c.want == "" {
			require.NoError(t, err, c.options)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.True(t, errors.Is(err, errors.ErrUnsupported))
	}
}
