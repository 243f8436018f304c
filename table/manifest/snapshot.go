package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sink/table"
)

// snapshotVersion is what Paimon has written since 0.4; readers do not check it, and neither 1 nor 2 differs in what
// is read here.
const snapshotVersion = 3

// CommitKind tells what a snapshot changed (org.apache.paimon.Snapshot.CommitKind).
type CommitKind string

// The commit kinds. Any other fails to parse, as in Paimon.
const (
	Append    CommitKind = "APPEND"    // new files, and changelog
	Compact   CommitKind = "COMPACT"   // files rewritten; the rows of the table stay the same
	Overwrite CommitKind = "OVERWRITE" // files deleted as part of a change of rows
	Analyze   CommitKind = "ANALYZE"   // statistics only
)

// Snapshot is the file snapshot/snapshot-ID: what the table holds at one moment (org.apache.paimon.Snapshot). A
// member that is absent or null is a zero value here, and is left out when written unless it says otherwise.
type Snapshot struct {
	UUID     string // random; empty in files of Paimon before 2.0
	ID       int64
	SchemaID int64 // the latest schema when it was committed

	BaseList          string // manifest list of all up to the snapshot before
	BaseListSize      int64  // bytes; 0: unknown
	DeltaList         string // manifest list of this snapshot's changes
	DeltaListSize     int64
	ChangelogList     string // manifest list of this snapshot's changelog files; empty: none
	ChangelogListSize int64
	IndexManifest     string // carried over from snapshot to snapshot

	CommitUser       string
	WriterVersion    string // from Paimon 2.1 on
	CommitIdentifier int64
	CommitKind       CommitKind
	TimeMillis       int64 // wall clock of the commit, milliseconds since the epoch; never decreases

	TotalRecords     int64 // rows in live data files, unmerged; always written
	DeltaRecords     int64 // rows in files added less rows in files deleted; always written
	ChangelogRecords int64 // rows in this snapshot's changelog files; always written

	Watermark  *int64
	Statistics string // file in statistics/, carried over while the schema stays
	Properties map[string]string
	NextRowID  *int64
	Operation  string // from Paimon 2.0 on

	// Unknown are members of the file that the sink does not know, kept for whoever does.
	Unknown map[string]json.RawMessage
}

// ParseSnapshot reads a snapshot file, a long-lived changelog or a tag. It returns a *table.VersionError for a version
// above 3.
func ParseSnapshot(b []byte) (*Snapshot, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	p := members{m: m}
	version := int64(1)
	p.take("version", &version, false)
	if p.err == nil && version > snapshotVersion {
		return nil, &table.VersionError{What: "snapshot", Version: int(version), Max: snapshotVersion}
	}
	s := new(Snapshot)
	p.take("uuid", &s.UUID, false)
	p.take("id", &s.ID, true)
	p.take("schemaId", &s.SchemaID, true)
	p.take("baseManifestList", &s.BaseList, true)
	p.take("baseManifestListSize", &s.BaseListSize, false)
	p.take("deltaManifestList", &s.DeltaList, true)
	p.take("deltaManifestListSize", &s.DeltaListSize, false)
	p.take("changelogManifestList", &s.ChangelogList, false)
	p.take("changelogManifestListSize", &s.ChangelogListSize, false)
	p.take("indexManifest", &s.IndexManifest, false)
	p.take("commitUser", &s.CommitUser, true)
	p.take("writerVersion", &s.WriterVersion, false)
	p.take("commitIdentifier", &s.CommitIdentifier, true)
	p.take("commitKind", &s.CommitKind, true)
	p.take("timeMillis", &s.TimeMillis, false)
	p.take("totalRecordCount", &s.TotalRecords, false)
	p.take("deltaRecordCount", &s.DeltaRecords, false)
	p.take("changelogRecordCount", &s.ChangelogRecords, false)
	p.take("watermark", &s.Watermark, false)
	p.take("statistics", &s.Statistics, false)
	p.take("properties", &s.Properties, false)
	p.take("nextRowId", &s.NextRowID, false)
	p.take("operation", &s.Operation, false)
	if p.err != nil {
		return nil, fmt.Errorf("snapshot: %w", p.err)
	}
	if len(m) > 0 {
		s.Unknown = m
	}
	return s, s.check()
}

// check tells whether the members can be true.
func (s *Snapshot) check() error {
	switch {
	case s.ID < 1:
		return fmt.Errorf("snapshot: id %d, want 1 or more", s.ID)
	case s.SchemaID < 0:
		return fmt.Errorf("snapshot %d: schemaId is %d", s.ID, s.SchemaID)
	case s.BaseList == "" || s.DeltaList == "":
		return fmt.Errorf("snapshot %d: an empty name of a manifest list", s.ID)
	case !slices.Contains([]CommitKind{Append, Compact, Overwrite, Analyze}, s.CommitKind):
		return fmt.Errorf("snapshot %d: commitKind %q is not known", s.ID, s.CommitKind)
	}
	for _, name := range []string{s.BaseList, s.DeltaList, s.ChangelogList, s.IndexManifest, s.Statistics} {
		if strings.ContainsAny(name, "/\\") {
			return fmt.Errorf("snapshot %d: %q is not a bare file name", s.ID, name)
		}
	}
	return nil
}

// members takes the members of a JSON object one by one; what is left is unknown. The first error sticks.
type members struct {
	m   map[string]json.RawMessage
	err error
}

// take moves a member into dst. A null counts as absent.
func (p *members) take(name string, dst any, required bool) {
	raw, ok := p.m[name]
	delete(p.m, name)
	if !ok || string(raw) == "null" {
		if required && p.err == nil {
			p.err = fmt.Errorf("no %s", name)
		}
		return
	}
	if err := json.Unmarshal(raw, dst); err != nil && p.err == nil {
		p.err = fmt.Errorf("%s: %w", name, err)
	}
}

// snapshotJSON is a snapshot in the member order of Paimon's files.
type snapshotJSON struct {
	Version           int               `json:"version"`
	UUID              string            `json:"uuid,omitempty"`
	ID                int64             `json:"id"`
	SchemaID          int64             `json:"schemaId"`
	BaseList          string            `json:"baseManifestList"`
	BaseListSize      int64             `json:"baseManifestListSize,omitempty"`
	DeltaList         string            `json:"deltaManifestList"`
	DeltaListSize     int64             `json:"deltaManifestListSize,omitempty"`
	ChangelogList     string            `json:"changelogManifestList,omitempty"`
	ChangelogListSize int64             `json:"changelogManifestListSize,omitempty"`
	IndexManifest     string            `json:"indexManifest,omitempty"`
	CommitUser        string            `json:"commitUser"`
	WriterVersion     string            `json:"writerVersion,omitempty"`
	CommitIdentifier  int64             `json:"commitIdentifier"`
	CommitKind        CommitKind        `json:"commitKind"`
	TimeMillis        int64             `json:"timeMillis"`
	TotalRecords      int64             `json:"totalRecordCount"`
	DeltaRecords      int64             `json:"deltaRecordCount"`
	ChangelogRecords  int64             `json:"changelogRecordCount"`
	Watermark         *int64            `json:"watermark,omitempty"`
	Statistics        string            `json:"statistics,omitempty"`
	Properties        map[string]string `json:"properties,omitempty"`
	NextRowID         *int64            `json:"nextRowId,omitempty"`
	Operation         string            `json:"operation,omitempty"`
}

// Encode writes the snapshot file, version 3, indented as Paimon does, with the unknown members at its end. The same
// snapshot always gives the same bytes.
func (s *Snapshot) Encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return encodeMembers(snapshotJSON{
		snapshotVersion, s.UUID, s.ID, s.SchemaID, s.BaseList, s.BaseListSize, s.DeltaList, s.DeltaListSize,
		s.ChangelogList, s.ChangelogListSize, s.IndexManifest, s.CommitUser, s.WriterVersion, s.CommitIdentifier,
		s.CommitKind, s.TimeMillis, s.TotalRecords, s.DeltaRecords, s.ChangelogRecords, s.Watermark, s.Statistics,
		s.Properties, s.NextRowID, s.Operation,
	}, s.Unknown)
}

// encodeMembers writes a JSON object: the members of a struct, then others by name.
func encodeMembers(known any, unknown map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(known); err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		b.Truncate(bytes.LastIndexByte(b.Bytes(), '}'))
		for _, name := range sortedKeys(unknown) {
			key, err := json.Marshal(name)
			if err != nil {
				return nil, err
			}
			if !json.Valid(unknown[name]) {
				return nil, errors.New("member " + name + " is not JSON")
			}
			fmt.Fprintf(&b, ",%s:%s", key, unknown[name])
		}
		b.WriteByte('}')
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(b.Bytes()), "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
