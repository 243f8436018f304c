package connector

import (
	"context"
	"errors"
	"time"

	"sink/commit"
)

// maxOvertaken is how many checkpoints one after the other may be read again because another writer's rows came between their numbers and
// their commit. After the first of them rows are numbered above what the table holds at that moment, so that what is left is the time that the
// files and the commit take.
const maxOvertaken = 10

// lookWithin is how long a look at the table may hold up the worker. Without it the commit tells.
const lookWithin = 5 * time.Second

// lookAfter is how old the last look at a table may be that nobody else is known to write.
const lookAfter = time.Minute

// raise lifts the numbers of the rows to come above those of a table that others write, too, or may have written since the last look. It does
// nothing while a checkpoint is under way, which has the committer.
func (w *worker) raise() {
	if w.committer == nil || w.flight != nil || !w.company && time.Since(w.looked) < lookAfter {
		return
	}
	ctx, cancel := context.WithTimeout(w.c.life, lookWithin)
	defer cancel()
	if number, err := w.committer.Ahead(ctx); err == nil {
		w.writer.Raise(number)
		w.looked = time.Now()
	}
}

// outrun notes a checkpoint that another writer's rows have overtaken, and reports whether that was once too often.
func (w *worker) outrun(err error) bool {
	if !errors.Is(err, commit.ErrOvertaken) {
		return false
	}
	w.company = true
	w.overtaken++
	return w.overtaken == maxOvertaken
}
