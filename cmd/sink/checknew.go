package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"sink/connector"
	"sink/table"
)

// checkNew says what table would be made of the fields of an event, or why none would.
func (c *checker) checkNew(t *connector.Table, what, topic string, fields []table.Field, key []string) error {
	fields, err := t.Fields(fields, nil)
	if err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	key = t.KeyColumns(key)
	primaryKey := t.PrimaryKey
	if len(primaryKey) == 0 {
		if len(key) == 0 {
			return fmt.Errorf("the records of topic %s have no key, so the table would have no primary key: set `primary-key:`, or have Debezium set a key (message.key.columns)", topic)
		}
		for _, column := range t.PartitionBy {
			if !slices.Contains(key, column) {
				primaryKey = append(primaryKey, column)
			}
		}
		primaryKey = append(primaryKey, key...)
	}
	if err := hasColumns(fields, "partition-by", t.PartitionBy); err != nil {
		return err
	}
	if err := hasColumns(fields, "primary-key", primaryKey); err != nil {
		return err
	}
	options := map[string]string{"bucket": "4", "changelog-producer": "input"}
	maps.Copy(options, t.Options)
	schema := table.NewSchema(fields, primaryKey, t.PartitionBy, options)
	if err := errors.Join(schema.Validate(), t.CheckFilter(schema)); err != nil {
		return err
	}
	for _, column := range primaryKey {
		if !slices.Contains(key, column) && len(key) > 0 && !c.placed(t, column, key) {
			c.say(checkNote, what, "column %s is part of the primary key but not of the record key: an update or delete without the whole row before it cannot be placed; "+
				"let the source send whole rows (PostgreSQL: REPLICA IDENTITY FULL, MySQL: binlog_row_image=FULL), or put %[1]s into the key (message.key.columns)", column)
		}
	}
	for _, name := range schema.UnknownOptions() {
		c.say(checkNote, what, "option %s is none that Paimon is known to have: it is kept in the table and does nothing here; check its name", name)
	}
	buckets := "bucket " + options["bucket"]
	if t.Options["bucket"] == "" {
		buckets += " by default (options.bucket chooses)"
	}
	c.say(checkOK, what, "would be made from topic %s: %s, primary key %s, %s", topic, plural(len(fields), "column"), strings.Join(primaryKey, ", "), buckets)
	return nil
}

// placed reports whether a column of the primary key is known where nothing but the record key is: it comes from the record,
// or is computed from the key.
func (c *checker) placed(t *connector.Table, column string, key []string) bool {
	if _, ok := t.Metadata[column]; ok {
		return true
	}
	for _, computed := range t.Shaping.Computed {
		if computed.Name == column {
			return !slices.ContainsFunc(computed.Expression.Columns(), func(input string) bool { return !slices.Contains(key, input) })
		}
	}
	return false
}

// hasColumns refuses names under a key of the mapping that are no columns.
func hasColumns(fields []table.Field, key string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(fields, func(f table.Field) bool { return f.Name == name }) {
			var have []string
			for _, f := range fields {
				have = append(have, f.Name)
			}
			return fmt.Errorf("%s names %s, which is no column; there are: %s", key, name, strings.Join(have, ", "))
		}
	}
	return nil
}

// checkLetters sees that there is a topic for the records that a policy puts aside. The sink makes no topics.
func (c *checker) checkLetters(t *connector.Table, details kadm.TopicDetails) {
	policies := []connector.Policy{t.OnError, t.OnMissingBefore, t.SchemaChange, t.LatePartition}
	if t.Letters.Path != "" || !slices.Contains(policies, connector.DeadLetter) {
		return
	}
	if d, ok := details[t.Letters.Topic]; !ok || d.Err != nil {
		c.say(checkFail, "topic "+t.Letters.Topic, "is not there, but table %s puts records aside there, and could not commit with the first: make the topic, name another under dead-letter.topic, or a folder under dead-letter.path", t.Name)
	}
}
