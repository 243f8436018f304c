//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// producerCases are tables whose compaction makes the changelog: each producer with merge engines that make other rows of the
// input than came in.
func producerCases() []engineCase {
	var cases []engineCase
	engines := map[string]engineCase{}
	for _, c := range engineCases() {
		engines[c.name] = c
	}
	add := func(name, producer string, more map[string]string) {
		c := engines[name]
		options := map[string]string{"changelog-producer": producer}
		for _, all := range []map[string]string{c.options, more} {
			for k, v := range all {
				options[k] = v
			}
		}
		switch name { // whether a row of kind -D or -U is kept depends on the sizes of files, which differ, and so does what an older row after it makes
		case "partial_groups":
			c.ops = "cu"
		case "dedup_sequence":
			c.ops = "c"
		}
		c.name, c.options = strings.ReplaceAll(producer, "-", "_")+"_"+name, options
		if more != nil {
			c.name += "_more"
		}
		cases = append(cases, c)
	}
	engines["dedup"] = engineCase{name: "dedup", ops: "cud", options: map[string]string{}}
	engines["first_ignore"] = engineCase{name: "first_ignore", ops: "cud", options: map[string]string{"merge-engine": "first-row", "ignore-delete": "true"}}
	for _, name := range []string{"dedup", "partial_groups", "aggregation"} {
		for _, producer := range []string{"full-compaction", "lookup"} {
			add(name, producer, nil)
		}
	}
	add("dedup_sequence", "lookup", nil)
	add("aggregation_remove", "lookup", nil)
	add("first_ignore", "lookup", nil)
	add("first_ignore", "none", nil)
	same := map[string]string{"changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "a,b,c,e,g,h,i,j"}
	add("partial_ignore", "lookup", same)
	add("aggregation", "full-compaction", same)
	add("dedup", "lookup", map[string]string{"num-levels": "3", "num-sorted-run.compaction-trigger": "2"})
	add("aggregation", "lookup", map[string]string{"compaction.max-size-amplification-percent": "100000", "num-sorted-run.compaction-trigger": "4"})
	add("partial_groups", "none", map[string]string{"force-lookup": "true"})
	return cases
}

const producerRounds = 4

// TestProducers gives the same random rows to real Paimon's writer, which compacts by itself, and to the sink, whose command does,
// commit by commit. With changelog producers full-compaction and lookup the rows and the changes that each compaction tells are the
// same, in real Paimon's readers and in the sink's, and so are those of tables that are compacted by both in turn.
func TestProducers(t *testing.T) {
	t.Parallel()
	r := diceOf(t, 1)
	l, cases := newLake(t, disk), producerCases()
	var mappings []config
	for i := range cases {
		c := &cases[i]
		topic := slug(t) + "." + c.name
		createTopic(t, topic, 1)
		mappings = append(mappings, table(topic, "ours."+c.name, config{"on-missing-before": "accept"}))
		for db, writeOnly := range map[string]bool{"ours": true, "java": c.full()} {
			c.options["write-only"] = fmt.Sprint(writeOnly)
			x := l.table(db + "." + c.name)
			shared.java.must(t, x.java("write", "--input", writeFile(t, "create.jsonl", c.create(t)))...)
		}
	}
	path := newConfig(l, slug(t), mappings...).with(config{"checkpoint": config{"interval": "1h"}}).write(t)
	for round := range producerRounds {
		for i := range cases {
			cases[i].feed(t, r, round, slug(t), l.table("java."+cases[i].name))
		}
		sink(t, "run", "-c", path, "--until-end")
		for i := range cases {
			cases[i].compactBoth(t, l, round)
		}
	}
	for i := range cases {
		c := &cases[i]
		if c.options["changelog-producer"] == "none" {
			continue
		}
		ours, java := l.table("ours."+c.name), l.table("java."+c.name)
		want := kindsAndRows(t, java)
		require.NotEmpty(t, want)
		requireSameLines(t, want, kindsAndRows(t, ours), "%s: changelog", c.name)
		replay := "none" // of other merge engines the judge replays nothing
		if c.options["merge-engine"] == "" && c.options["sequence.field"] == "" {
			replay = "last"
		}
		ours.fsck(t, "--replay", replay)
		if replay == "last" {
			sink(t, ours.cli("verify")...)
		}
	}
}

// full reports whether only a full compaction tells changes.
func (c *engineCase) full() bool { return c.options["changelog-producer"] == "full-compaction" }

// feed gives the events of a round to both writers.
func (c *engineCase) feed(t *testing.T, r *rand.Rand, round int, prefix string, java target) {
	var script strings.Builder
	var records []record
	if round == 0 && c.ops != "c" {
		records = append(records, c.proof(t, r, prefix+"."+c.name, &script))
	}
	for _, id := range c.keys(r) {
		records = append(records, c.event(t, r, id, prefix+"."+c.name, &script))
	}
	produce(t, records)
	shared.java.must(t, java.java("write", "--input", writeFile(t, "rows.jsonl", script.String()))...)
}

// compactBoth compacts both tables: where full compactions tell, real Paimon once does it in the sink's table; where look-ups do,
// its writer has done it in its own. Once there are two commits between two full compactions.
func (c *engineCase) compactBoth(t *testing.T, l lake, round int) {
	ours, java := l.table("ours."+c.name), l.table("java."+c.name)
	switch {
	case !c.full():
		sink(t, ours.cli("compact")...)
	case round == 1:
		return
	case round == producerRounds-2:
		compactByJava(t, java)
		compactByJava(t, ours)
	default:
		compactByJava(t, java)
		compactBySink(t, ours)
	}
	if round == producerRounds-1 {
		c.requireSameRows(t, ours, c.rows(t, java, "paimon"), "after the last compaction")
	}
}
