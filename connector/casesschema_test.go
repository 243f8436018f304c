package connector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/debezium"
	"sink/table/manifest"
	"sink/table/object"
)

// declaredByEvents makes a mapping whose types come from the events.
func declaredByEvents(m *Table) {
	m.Columns = nil
	m.Decoding = debezium.Config{}
}

var (
	labelColumn = declaredColumn{name: "label", connect: `"type":"string"`}
	gradeColumn = declaredColumn{name: "grade", connect: `"type":"int32"`}
)

// TestNewColumn is case U30: a column is used right after it was added, in the same fetch; an event of the old form comes behind.
func TestNewColumn(t *testing.T) {
	before, after := []declaredColumn{labelColumn}, []declaredColumn{labelColumn, gradeColumn}
	play(t, script{
		skips: 5, table: declaredByEvents,
		events: []event{
			declaredEvent("c", 1, before, "", `{"id":1,"label":"a"}`),
			declaredEvent("c", 2, before, "", `{"id":2,"label":"b"}`),
			declaredEvent("u", 1, after, `{"id":1,"label":"a","grade":null}`, `{"id":1,"label":"a","grade":5}`),
			declaredEvent("c", 3, before, "", `{"id":3,"label":"old"}`),
		},
		rows: []string{`{"id":1,"label":"a","grade":5}`, `{"id":2,"label":"b","grade":null}`, `{"id":3,"label":"old","grade":null}`},
		changes: []string{
			`+I {"id":1,"label":"a","grade":null}`, `+I {"id":2,"label":"b","grade":null}`, `-U {"id":1,"label":"a","grade":null}`, `+U {"id":1,"label":"a","grade":5}`,
			`+I {"id":3,"label":"old","grade":null}`,
		},
		offsets: []int64{4},
		check: func(t *testing.T, _ *stage, store *object.Mem, _ Config) {
			s, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
			require.NoError(t, err)
			require.EqualValues(t, 1, s.ID, "one schema version for one change")
		},
	})
}

// TestComesBackAsText is the middle of case U32: a column that was dropped comes back with another type.
func TestComesBackAsText(t *testing.T) {
	numbers := []declaredColumn{{name: "weight", connect: `"type":"int32"`}}
	texts := []declaredColumn{{name: "weight", connect: `"type":"string"`}}
	events := []event{
		declaredEvent("c", 1, numbers, "", `{"id":1,"weight":3}`),
		declaredEvent("c", 2, nil, "", `{"id":2}`),
		declaredEvent("c", 3, texts, "", `{"id":3,"weight":"heavy"}`),
	}
	kept := []string{`{"id":1,"weight":3}`, `{"id":2,"weight":null}`}
	changes := []string{`+I {"id":1,"weight":3}`, `+I {"id":2,"weight":null}`}
	t.Run("evolve", func(t *testing.T) {
		play(t, script{skips: 9, table: declaredByEvents, events: events, rows: kept, changes: changes, offsets: []int64{2}, fails: "column weight is INT, which cannot take in STRING"})
	})
	t.Run("dead-letter", func(t *testing.T) {
		play(t, script{
			skips: 9, events: events, rows: kept, changes: changes, offsets: []int64{3}, stats: TableStats{DeadLetters: 1},
			table: func(m *Table) {
				declaredByEvents(m)
				m.SchemaChange, m.Letters = DeadLetter, Letters{Path: "_dead"}
			},
		})
	})
}

// TestNewMember is the part of case U30 with a struct inside the row: its new member becomes one of the column's ROW.
func TestNewMember(t *testing.T) {
	box := func(more string) []declaredColumn {
		return []declaredColumn{{name: "box", connect: `"type":"struct","name":"box","fields":[{"type":"int32","optional":true,"field":"w"}` + more + `]`}}
	}
	play(t, script{
		skips: 9, table: declaredByEvents,
		events: []event{
			declaredEvent("c", 1, box(""), "", `{"id":1,"box":{"w":1}}`),
			declaredEvent("c", 2, box(`,{"type":"string","optional":true,"field":"h"}`), "", `{"id":2,"box":{"w":2,"h":"x"}}`),
		},
		rows:    []string{`{"id":1,"box":{"w":1,"h":null}}`, `{"id":2,"box":{"w":2,"h":"x"}}`},
		changes: []string{`+I {"id":1,"box":{"w":1,"h":null}}`, `+I {"id":2,"box":{"w":2,"h":"x"}}`},
		offsets: []int64{2},
	})
}

// keyedBy gives an event a record key of two columns.
func keyedBy(e event, second string, value int) event {
	e.key = strings.Replace(e.key, `"fields":[`, fmt.Sprintf(`"fields":[{"type":"int32","optional":false,"field":%q},`, second), 1)
	e.key = strings.Replace(e.key, `"payload":{`, fmt.Sprintf(`"payload":{%q:%d,`, second, value), 1)
	return e
}

// TestKeyGrows: the source's key has a column more, so that rows would become one.
func TestKeyGrows(t *testing.T) {
	columns := []declaredColumn{gradeColumn}
	events := []event{
		declaredEvent("c", 1, columns, "", `{"id":1,"grade":1}`),
		keyedBy(declaredEvent("c", 2, columns, "", `{"id":2,"grade":1}`), "grade", 1),
		keyedBy(declaredEvent("c", 2, columns, "", `{"id":2,"grade":2}`), "grade", 2),
	}
	t.Run("refused", func(t *testing.T) {
		play(t, script{
			skips: 9, table: declaredByEvents, events: events, rows: []string{`{"id":1,"grade":1}`}, changes: []string{`+I {"id":1,"grade":1}`}, offsets: []int64{1},
			fails: "the record key is [grade, id], the table's primary key [id]: rows that differ in grade only would become one",
		})
	})
	t.Run("stated", func(t *testing.T) {
		play(t, script{
			skips: 9, events: events[:2], rows: []string{`{"id":1,"grade":1}`, `{"id":2,"grade":1}`}, changes: []string{`+I {"id":1,"grade":1}`, `+I {"id":2,"grade":1}`}, offsets: []int64{2},
			table: func(m *Table) { declaredByEvents(m); m.PrimaryKey = []string{"id"} },
		})
	})
}

// TestKeyBesideTheRow: a column that is in the record key only, as ByLogicalTableRouter adds it, is part of the table's key.
func TestKeyBesideTheRow(t *testing.T) {
	play(t, script{
		skips: 9, table: declaredByEvents,
		events: []event{
			keyedBy(declaredEvent("c", 1, []declaredColumn{labelColumn}, "", `{"id":1,"label":"a"}`), "shard", 1),
			keyedBy(declaredEvent("c", 1, []declaredColumn{labelColumn}, "", `{"id":1,"label":"b"}`), "shard", 2),
		},
		rows:    []string{`{"id":1,"label":"a","shard":1}`, `{"id":1,"label":"b","shard":2}`},
		changes: []string{`+I {"id":1,"label":"a","shard":1}`, `+I {"id":1,"label":"b","shard":2}`}, offsets: []int64{2},
	})
}

// TestTwoMeetTheChange is the end of case U30: two instances meet the new schema at once, and make one version of it.
func TestTwoMeetTheChange(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		mapping := crateTable()
		declaredByEvents(&mapping)
		mapping.Options["file.compression"] = "none" // its decoders would belong to one bubble
		cfg := s.config(store, mapping)
		cfg.UntilEnd, cfg.Checkpoint.Interval = false, time.Second
		before, after := []declaredColumn{labelColumn}, []declaredColumn{labelColumn, gradeColumn}
		emit := func(partition int32, e event) {
			e.partition = partition
			s.emit(crateTopic, e)
		}
		first, second := s.start(cfg), s.start(cfg)
		time.Sleep(20 * time.Second) // the group settles: a partition each
		for i := range 2 {
			emit(int32(i), declaredEvent("c", i, before, "", fmt.Sprintf(`{"id":%d,"label":"a"}`, i)))
		}
		time.Sleep(10 * time.Second)
		for i := range 2 {
			emit(int32(i), declaredEvent("c", 10+i, after, "", fmt.Sprintf(`{"id":%d,"label":"b","grade":7}`, 10+i)))
		}
		time.Sleep(20 * time.Second)
		for _, p := range []*process{first, second} {
			require.Len(t, p.c.Stats().Tables[0].Positions, 1, "a partition each")
			require.NoError(t, p.end())
		}
		require.Equal(t, []string{
			`{"id":0,"label":"a","grade":null}`, `{"id":1,"label":"a","grade":null}`, `{"id":10,"label":"b","grade":7}`, `{"id":11,"label":"b","grade":7}`,
		}, rowsOf(t, store, "orchard.crate"))
		schema, err := manifest.LatestSchema(t.Context(), store, pathOf("orchard.crate"))
		require.NoError(t, err)
		require.EqualValues(t, 1, schema.ID, "one schema version for one change")
	})
}

// TestTwoMeetUnlikeChanges: two instances meet a new column of one name and unlike types at once. The second is told what the first
// made of it, and stops there.
func TestTwoMeetUnlikeChanges(t *testing.T) {
	onStage(t, func(t *testing.T) {
		s, store := newStage(t, 2, crateTopic), object.NewMem()
		mapping := crateTable()
		declaredByEvents(&mapping)
		mapping.Options["file.compression"] = "none" // its decoders would belong to one bubble
		cfg := s.config(store, mapping)
		cfg.UntilEnd, cfg.Checkpoint.Interval = false, time.Second
		first, second := s.start(cfg), s.start(cfg)
		time.Sleep(20 * time.Second) // the group settles: a partition each
		for round, columns := range [][2]declaredColumn{{labelColumn, labelColumn}, {gradeColumn, {name: "grade", connect: `"type":"string"`}}} {
			for i := range 2 {
				c := columns[i]
				value := map[bool]string{true: "7", false: `"a"`}[c.connect == gradeColumn.connect]
				e := declaredEvent("c", 10*round+i, []declaredColumn{c}, "", fmt.Sprintf(`{"id":%d,%q:%s}`, 10*round+i, c.name, value))
				e.partition = int32(i)
				s.emit(crateTopic, e)
			}
			time.Sleep(20 * time.Second)
			if round == 0 {
				require.Len(t, first.c.Stats().Tables[0].Positions, 1, "a partition each")
				require.Len(t, second.c.Stats().Tables[0].Positions, 1, "a partition each")
			}
		}
		problems := ""
		for _, p := range []*process{first, second} {
			problems += p.c.Stats().Tables[0].Problem
			if p.c.Stats().Tables[0].Problem == "" {
				require.NoError(t, p.end())
			} else {
				require.Error(t, p.end())
			}
		}
		require.Regexp(t, "offset 1: .*column grade is (INT, which cannot take in STRING|STRING, which cannot take in INT)", problems)
		require.Len(t, rowsOf(t, store, "orchard.crate"), 3)
	})
}
