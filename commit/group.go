package commit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sink/table"
)

// ReadBefore returns the other groups of the sink, in order, whose rows of a partition the table has from its cursor on: who begins there
// gives them to it a second time. Only a fresh table has any.
func (s *State) ReadBefore(begun table.Offsets) (groups []string) {
	for name, offsets := range s.groups {
		for tp, from := range begun {
			at, ok := offsets[tp]
			sameTopic := at.TopicID == "" || from.TopicID == "" || at.TopicID == from.TopicID
			if ok && sameTopic && at.Offset > from.Offset {
				groups = append(groups, name)
				break
			}
		}
	}
	slices.Sort(groups)
	return groups
}

// noteGroup keeps the map of a snapshot that is another group's. Snapshots are seen from the newest on, and each has the whole map.
func (v *view) noteGroup(s *seen) {
	if _, known := v.groups[s.CommitUser]; known || s.bad != nil {
		return
	}
	if progress, ours, err := table.ParseProgress(s.Properties); ours && err == nil {
		v.groups[s.CommitUser] = progress.Offsets
	}
}

// groupsText names the other groups of the sink, after what says that there are other writers.
func (v *view) groupsText() string {
	if len(v.groups) == 0 {
		return ""
	}
	return fmt.Sprintf(", of kafka.group %s", strings.Join(slices.Sorted(maps.Keys(v.groups)), ", "))
}
