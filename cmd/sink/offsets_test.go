package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runToEnd runs the sink to the end of the topics.
func (b *broker) runToEnd() {
	b.t.Helper()
	code, _, stderr := b.sink("", "run", "--until-end")
	require.Zero(b.t, code, stderr)
}

// edit changes sink.yaml.
func (b *broker) edit(old, new string) {
	file := filepath.Join(b.dir, "sink.yaml")
	text := read(b.t, file)
	require.Contains(b.t, text, old)
	require.NoError(b.t, os.WriteFile(file, []byte(strings.Replace(text, old, new, 1)), 0o644))
}

// snapshots is the folder of a table's snapshots.
func (b *broker) snapshots(name string) string {
	db, table, _ := strings.Cut(name, ".")
	return filepath.Join(b.dir, "lake", db+".db", table, "snapshot")
}

// newest is the id of a table's newest snapshot.
func (b *broker) newest(name string) (id int64) {
	files, err := filepath.Glob(filepath.Join(b.snapshots(name), "snapshot-*"))
	require.NoError(b.t, err)
	for _, file := range files {
		n, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(file), "snapshot-"), 10, 64)
		require.NoError(b.t, err)
		id = max(id, n)
	}
	return id
}

// remove takes a snapshot out of a table, with the hints that may name it.
func (b *broker) remove(name string, id int64) {
	for _, file := range []string{fmt.Sprintf("snapshot-%d", id), "LATEST", "EARLIEST"} {
		if err := os.Remove(filepath.Join(b.snapshots(name), file)); !os.IsNotExist(err) {
			require.NoError(b.t, err)
		}
	}
}

// spoil changes the text of a table's newest snapshot.
func (b *broker) spoil(name, old, new string) {
	file := filepath.Join(b.snapshots(name), fmt.Sprintf("snapshot-%d", b.newest(name)))
	text := read(b.t, file)
	require.Contains(b.t, text, old)
	require.NoError(b.t, os.WriteFile(file, []byte(strings.Replace(text, old, new, 1)), 0o644))
}

// admin asks the broker for something.
func (b *broker) admin(ask func(*kadm.Client)) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	require.NoError(b.t, err)
	defer client.Close()
	ask(kadm.NewClient(client))
}

func (b *broker) deleteTopic(topic string) {
	b.admin(func(c *kadm.Client) {
		answers, err := c.DeleteTopics(b.t.Context(), topic)
		require.NoError(b.t, err)
		require.NoError(b.t, answers.Error())
	})
}

// answer has the broker answer the next request of a kind with an error.
func (b *broker) answer(key kmsg.Key, code *kerr.Error) {
	b.cluster.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind()
		resp.SetVersion(req.GetVersion())
		switch resp := resp.(type) {
		case *kmsg.DescribeGroupsResponse:
			resp.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: "g", ErrorCode: code.Code}}
		case *kmsg.ConsumerGroupDescribeResponse:
			resp.Groups = []kmsg.ConsumerGroupDescribeResponseGroup{{Group: "g", ErrorCode: code.Code}}
		case *kmsg.OffsetDeleteResponse:
			resp.ErrorCode = code.Code
		case *kmsg.OffsetFetchResponse:
			resp.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "g", ErrorCode: code.Code}}
		case *kmsg.ListOffsetsResponse:
			for _, asked := range req.(*kmsg.ListOffsetsRequest).Topics {
				topic := kmsg.ListOffsetsResponseTopic{Topic: asked.Topic}
				for _, p := range asked.Partitions {
					topic.Partitions = append(topic.Partitions, kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, ErrorCode: code.Code, Offset: -1})
				}
				resp.Topics = append(resp.Topics, topic)
			}
		default:
			require.Fail(b.t, "no answer is made up", "%T", resp)
		}
		return resp, nil, true
	})
}

// notes are what offsets says of a table's partitions.
func (b *broker) notes(name string) (notes []string) {
	code, stdout, stderr := b.sink("", "offsets", name, "-o", "json")
	require.Zero(b.t, code, stderr)
	for line := range strings.Lines(stdout) {
		var row struct{ Topic, Note string }
		require.NoError(b.t, json.Unmarshal([]byte(line), &row))
		notes = append(notes, row.Topic+": "+row.Note)
	}
	return notes
}

// TestOffsetsOfTheGroup: behind the table, ahead of it over records without rows, and set by hand.
func TestOffsetsOfTheGroup(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	require.Equal(t, []string{customersTopic + ": "}, b.notes("shop.customers"))
	b.admin(func(c *kadm.Client) {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: customersTopic, At: 3})
		require.NoError(t, c.CommitAllOffsets(t.Context(), "g", offsets))
	})
	require.Equal(t, []string{customersTopic + ": the group's offset is ignored"}, b.notes("shop.customers"))
	b.runToEnd()
	b.requireTrue()

	b.admin(func(c *kadm.Client) {
		_, err := c.UpdatePartitions(t.Context(), 2, customersTopic)
		require.NoError(t, err)
	})
	require.Equal(t, customersTopic+": not in the map: begins at the start of the log", b.notes("shop.customers")[1])

	require.NoError(t, b.cluster.CreateTopic("t", 1, nil))
	b.config("tables: [{topic: t, table: d.t}]")
	row, source := `{"id":1,"n":1}`, `"source":{"db":"d","table":"t"},"ts_ms":1`
	b.edit("topic: t,", "topic: t, columns: {id: BIGINT, n: BIGINT},")
	b.put("t", `{"before":null,"after":`+row+`,"op":"c",`+source+`}`, `{"before":`+row+`,"after":null,"op":"d",`+source+`}`)
	b.runToEnd()
	b.put("t", "") // the tombstone of the delete
	b.runToEnd()
	require.Equal(t, []string{"t: the group is ahead over records that gave no rows"}, b.notes("d.t"))
}

// TestOffsetsOfTopicsNoLongerRead: a topic that no mapping has any more stays in the map, whatever a rebase says of the others.
func TestOffsetsOfTopicsNoLongerRead(t *testing.T) {
	b := newBroker(t)
	for _, topic := range []string{"east", "west"} {
		require.NoError(t, b.cluster.CreateTopic(topic, 1, nil))
		b.put(topic, `{"before":null,"after":{"id":1,"n":1},"source":{"db":"d","table":"t"},"op":"c","ts_ms":1}`)
	}
	mapping := "tables: [{topic: [east, west], table: d.t, columns: {id: BIGINT, n: BIGINT}, primary-key: [id, place], metadata: {place: topic}}]"
	b.config(mapping)
	b.runToEnd()
	b.edit("[east, west]", "[east]")
	require.Equal(t, []string{"east: ", "west: no mapping feeds the table from this topic"}, b.notes("d.t"))
	code, _, stderr := b.sink("", "offsets", "rebase", "d.t", "--to", "west/0=0")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--to west/0: the topics of table d.t have no such partition")
	code, stdout, stderr := b.sink("", "offsets", "rebase", "d.t", "--to", "earliest", "--yes")
	require.Zero(t, code, stderr)
	require.Regexp(t, `east +0 +1 +0 +1 offset read again`, stdout)
	require.Regexp(t, `west +0 +1 +1 +unchanged`, stdout)
	b.config(mapping)
	require.Equal(t, []string{"east: ", "west: "}, b.notes("d.t"))
}

// TestOffsetsOfFoundTables: tables that are found by the source of records are found without the group's offsets, too.
func TestOffsetsOfFoundTables(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.config(`tables: [{source: 'shop\.public\..*', table: 'lake.${table}'}]`)
	b.runToEnd()
	for _, name := range []string{"lake.nothing", "lake.sub.orders", "shop.orders"} {
		code, _, stderr := b.sink("", "offsets", name)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "feeds table "+name+"; there are: lake.customers, lake.orders")
	}
	code, _, stderr := b.sink("", "offsets", "rebase", "lake.orders", "--yes")
	require.Zero(t, code, stderr)
	require.Equal(t, []string{ordersTopic + ": ", ordersTopic + ": "}, b.notes("lake.orders"), "whose offsets the group was made to forget")
	code, stdout, stderr := b.sink("", "offsets", "rebase", "lake.orders", "--to", ordersTopic+"/0=0", "--yes")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "table lake.orders goes on from snapshot 3")
	b.admin(func(c *kadm.Client) {
		_, err := c.DeleteGroup(t.Context(), "g")
		require.NoError(t, err)
	})
	require.Equal(t, []string{customersTopic + ": "}, b.notes("lake.customers"))
	b.runToEnd()
	require.Equal(t, []string{ordersTopic + ": ", ordersTopic + ": "}, b.notes("lake.orders"))

	b.spoil("lake.orders", `"sink.offsets": "`, `"sink.offsets": "?`)
	code, _, stderr = b.sink("", "offsets", "lake.orders")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the progress in a snapshot cannot be read")
	b.spoil("lake.orders", "{", "")
	code, _, stderr = b.sink("", "offsets", "lake.orders")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "table lake.orders: ")
}

// TestOffsetsNotTold: what brokers and store do not tell is an error, and not taken for something that is gone.
func TestOffsetsNotTold(t *testing.T) {
	b := newBroker(t)
	b.produce(400)
	b.runToEnd()
	for range 2 { // where the logs begin, then where they end
		b.answer(kmsg.ListOffsets, kerr.UnknownServerError)
		code, stdout, stderr := b.sink("", "offsets", "rebase", "shop.customers", "--yes")
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "offsets of topic "+customersTopic+" partition 0 cannot be read: UNKNOWN_SERVER_ERROR")
	}
	b.answer(kmsg.OffsetFetch, kerr.GroupAuthorizationFailed)
	code, _, stderr := b.sink("", "offsets")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "kafka: no right to use the group")
	require.EqualValues(t, 1, b.newest("shop.customers"))

	b.spoil("shop.orders", "{", "") // the other tables are told
	code, stdout, stderr := b.sink("", "offsets")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "table shop.orders: ")
	require.Contains(t, stdout, customersTopic)
	require.NotContains(t, stdout, ordersTopic)
	code, _, stderr = b.sink("", "offsets", "rebase", "shop.orders", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "table shop.orders: ")

	var hidden *kerr.Error
	b.hideTopics(func() int16 { return hidden.Code })
	for _, c := range []struct {
		code *kerr.Error
		want string
	}{
		{kerr.TopicAuthorizationFailed, "table shop.customers: kafka: no right to read a topic"},
		{kerr.UnknownServerError, "table shop.customers: kafka: topic " + customersTopic + ": UNKNOWN_SERVER_ERROR"},
	} {
		hidden = c.code
		code, stdout, stderr = b.sink("", "offsets", "shop.customers")
		require.Equal(t, 1, code)
		require.NotContains(t, stdout, "gone")
		require.Contains(t, stderr, c.want)
	}

	b.cluster.Close()
	code, _, stderr = b.sink("", "offsets")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "kafka: no broker of $B answers")
	b.edit("group: g", "grup: g")
	for _, args := range [][]string{{"offsets"}, {"offsets", "rebase", "shop.orders"}} {
		code, _, stderr = b.sink("", args...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "unknown key")
	}
}

// hideTopics has the broker list no topics, and answer with an error where one is asked for by name.
func (b *broker) hideTopics(code func() int16) {
	host, number, err := net.SplitHostPort(b.address)
	require.NoError(b.t, err)
	port, err := strconv.ParseInt(number, 10, 32)
	require.NoError(b.t, err)
	b.cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.SetVersion(req.GetVersion())
		resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 0, Host: host, Port: int32(port)}}
		for _, asked := range req.(*kmsg.MetadataRequest).Topics {
			resp.Topics = append(resp.Topics, kmsg.MetadataResponseTopic{Topic: asked.Topic, TopicID: asked.TopicID, ErrorCode: code()})
		}
		return resp, nil, true
	})
}
