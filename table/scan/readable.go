package scan

import (
	"errors"
	"slices"
	"strings"
)

// travels are the table options by which Paimon's batch readers take another state than the newest
// (org.apache.paimon.CoreOptions.setDefaultValues and startupMode).
var travels = []string{
	"scan.snapshot-id", "scan.tag-name", "scan.timestamp", "scan.timestamp-millis", "scan.version", "scan.watermark",
	"scan.creation-time-millis", "scan.file-creation-time-millis",
	"incremental-between", "incremental-between-timestamp", "incremental-between-tag-to-snapshot", "incremental-to-auto-tag",
}

// diverts are the table options by which Paimon's batch readers take rows of another branch, or of one bucket only
// (org.apache.paimon.table.FallbackReadFileStoreTable).
var diverts = []string{
	"scan.fallback-branch", "scan.fallback-snapshot-branch", "scan.fallback-delta-branch", "scan.primary-branch", "scan.bucket",
}

// newestModes are the values of scan.mode with which a batch reader takes the newest snapshot.
var newestModes = []string{"default", "latest-full", "full", "latest"}

// CheckReaders tells, with all reasons, where table options have readers of Paimon's own return other rows than [Table.Plan] at the same
// state; the error satisfies [errors.ErrUnsupported]. It is for those who show rows to people: the table's files are what they are.
func (t *Table) CheckReaders(at At) error {
	var problems []error
	set := func(key string) bool { return strings.TrimSpace(t.schema.Options[key]) != "" }
	for _, key := range diverts {
		if set(key) {
			problems = append(problems, t.unsupported("option %s is %s, and readers of Paimon's own follow it", key, t.schema.Options[key]))
		}
	}
	if at != (At{}) {
		return errors.Join(problems...)
	}
	for _, key := range travels {
		if set(key) {
			problems = append(problems, t.unsupported("option %s is %s, so the newest state is not what readers of Paimon's own return: say which one to read", key, t.schema.Options[key]))
		}
	}
	if set("scan.mode") && !slices.ContainsFunc(newestModes, func(m string) bool { return strings.EqualFold(m, t.schema.Options["scan.mode"]) }) {
		problems = append(problems, t.unsupported("option scan.mode is %s, so the newest state is not what readers of Paimon's own return: say which one to read", t.schema.Options["scan.mode"]))
	}
	return errors.Join(problems...)
}
