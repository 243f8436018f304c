package commit

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Mark names one snapshot of one table in the metadata of a group's committed offset: the snapshot that the offset was
// committed after.
type Mark struct {
	Table    string // database.table
	Snapshot int64
	UUID     string // of that snapshot
}

const (
	metadataPrefix = "sink/1"
	// MaxOffsetMetadata is how long a group's offset metadata may be: Kafka's default of offset.metadata.max.bytes.
	MaxOffsetMetadata = 4096
)

// FormatOffsetMetadata returns the metadata to commit with a group's offset: "sink/1 db.t=12:<uuid> ...", one mark for
// each table that the partition feeds. When the marks do not fit in [MaxOffsetMetadata] bytes it returns no marks at
// all, which only means that the offset moves no partition forward later.
func FormatOffsetMetadata(marks ...Mark) string {
	marks = slices.SortedFunc(slices.Values(marks), func(a, b Mark) int { return strings.Compare(a.Table, b.Table) })
	var b strings.Builder
	b.WriteString(metadataPrefix)
	for _, m := range marks {
		b.WriteString(" " + url.QueryEscape(m.Table) + "=" + strconv.FormatInt(m.Snapshot, 10) + ":" + m.UUID)
	}
	if b.Len() > MaxOffsetMetadata {
		return metadataPrefix
	}
	return b.String()
}

// ParseOffsetMetadata reads what FormatOffsetMetadata wrote. It returns false for anything else, such as what another
// consumer or a reset by hand left.
func ParseOffsetMetadata(metadata string) ([]Mark, bool) {
	words := strings.Split(metadata, " ")
	if words[0] != metadataPrefix {
		return nil, false
	}
	var marks []Mark
	for _, w := range words[1:] {
		name, place, _ := strings.Cut(w, "=")
		number, uuid, ok := strings.Cut(place, ":")
		id, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || id < 0 {
			return nil, false
		}
		if name, err = url.QueryUnescape(name); err != nil {
			return nil, false
		}
		marks = append(marks, Mark{Table: name, Snapshot: id, UUID: uuid})
	}
	return marks, true
}

// Verdict is what a group's committed offset means for one partition of one table.
type Verdict int

// The verdicts.
const (
	// OffsetIgnored: the offset was not committed after the table's newest snapshot of this group: reset by hand, or left by
	// another table or an earlier snapshot. The map counts alone. Worth a warning where the offset differs from the map.
	OffsetIgnored Verdict = iota
	// OffsetForward: the records from the map's offset up to the group's gave no row, and need not be read again.
	OffsetForward
	// OffsetRollback: the offset was committed after a snapshot that the table no longer has: it was rolled back, or
	// dropped and made anew. Stop the table and ask.
	OffsetRollback
)

// JudgeOffset tells what a group's committed offset means for a partition of the named table. mapped is the offset of
// the table's newest map, or where the partition would begin if the map lacks it, or less than any offset if only the group can tell. Only metadata that names the very
// snapshot of the map moves the partition forward, and only forward. The group's offsets have to be read before the
// state: an instance that commits in between would look like a rollback.
func JudgeOffset(s State, name string, mapped, group int64, metadata string) Verdict {
	marks, ok := ParseOffsetMetadata(metadata)
	if !ok {
		return OffsetIgnored
	}
	i := slices.IndexFunc(marks, func(m Mark) bool { return m.Table == name })
	if i < 0 {
		return OffsetIgnored
	}
	m := marks[i]
	switch {
	case s.NewestID == 0 && m.Snapshot > 0: // a table without snapshots was not rolled back, but made anew
		return OffsetIgnored
	case m.Snapshot > s.NewestID, !s.Fresh && m.Snapshot > s.SnapshotID:
		return OffsetRollback
	case m.Snapshot < s.SnapshotID, s.Fresh && m.Snapshot > 0:
		return OffsetIgnored
	case m.UUID != s.SnapshotUUID:
		return OffsetRollback
	case group > mapped:
		return OffsetForward
	}
	return OffsetIgnored
}
