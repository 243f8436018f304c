//go:build integration

package integration

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestChaosChurn lets up to three instances come and go, one every 700 ms, by SIGTERM and by SIGKILL, while records of two tables keep
// coming; under each of the group protocols (U28).
func TestChaosChurn(t *testing.T) {
	for _, protocol := range []string{"classic", "eager", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			chapters(t, 12, func(t *testing.T, rounds int) { churn(t, protocol, rounds) })
		})
	}
}

func churn(t *testing.T, protocol string, rounds int) {
	random := dice(t)
	streams := []*stream{newStreamOf(t, slug(t)+".a", 6, random), newStreamOf(t, slug(t)+".b", 6, random)}
	names := []string{"orchard.a", "orchard.b"}
	l := newLake(t, []string{disk, s3}[random.IntN(2)])
	c := newConfig(l, slug(t), streams[0].mapping(names[0]), streams[1].mapping(names[1])).with(quickCrash).
		with(config{"kafka": config{"group-protocol": protocol, "session-timeout": "2s"}})
	if protocol == "consumer" {
		configureGroup(t, slug(t), "consumer.session.timeout.ms", "2000")
	}
	path := c.write(t)

	sent := make([][]record, len(streams))
	var running, leaving []*process
	for round := range rounds {
		for i, s := range streams {
			sent[i] = append(sent[i], produceFresh(t, s.next(50+random.IntN(200)))...)
		}
		if len(running) < 3 && (len(running) == 0 || random.IntN(2) == 0) {
			running = append(running, start(t, "run", "-c", path))
		} else {
			p := removeAny(random, &running)
			require.True(t, p.running(), "round %d: it ended by itself", round)
			if random.IntN(2) == 0 {
				p.kill()
			} else {
				p.terminate(t)
				leaving = append(leaving, p)
			}
		}
		time.Sleep(700 * time.Millisecond)
	}
	if len(running) == 0 {
		running = append(running, start(t, "run", "-c", path))
	}
	for i, s := range streams {
		until(t, waitLong, func() bool { return caughtUp(t, l.table(names[i]), slug(t), s.topic) }, "those who stay catch up with %s", names[i])
	}
	for _, p := range running {
		p.terminate(t)
	}
	for _, p := range append(leaving, running...) {
		require.Zero(t, p.wait(t, waitLong), "exit code of a graceful stop")
	}
	for i, s := range streams {
		s.requireWhole(t, l.table(names[i]), sent[i])
	}
}

// removeAny takes a process out of a list.
func removeAny(random *rand.Rand, list *[]*process) *process {
	i := random.IntN(len(*list))
	p := (*list)[i]
	*list = append((*list)[:i], (*list)[i+1:]...)
	return p
}

// configureGroup sets an option of a consumer group of KIP-848, whose timeouts are the broker's to say.
func configureGroup(t testing.TB, group, name, value string) {
	t.Helper()
	client, err := newClient(shared.kafka)
	require.NoError(t, err)
	defer client.Close()
	option := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	option.Name, option.Value, option.Op = name, &value, kmsg.IncrementalAlterConfigOpSet
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, option)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	require.Len(t, answer.Resources, 1)
	require.Zero(t, answer.Resources[0].ErrorCode, "group %s: %v", group, answer.Resources[0].ErrorMessage)
}
