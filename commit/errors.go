package commit

import (
	"errors"
	"fmt"
)

// What a caller of [Committer.Commit] branches on. Of ErrFenced, ErrConflict, ErrRescaled, ErrAltered, ErrOvertaken and ErrStale the way on is
// the same: drop everything uncommitted that this instance holds for the table, [Committer.Resume], and read again from there.
var (
	// ErrFenced says that the newest map no longer holds the offsets that the delta started from: another instance has
	// the partitions now, or this delta is in the table already.
	ErrFenced = errors.New("fenced: another instance has moved the partitions")
	// ErrConflict says that the delta does not fit the table any more: files to remove are gone, key ranges of a level
	// would overlap, or a partition has another bucket count.
	ErrConflict = errors.New("conflict with another writer of the table")
	// ErrRescaled says that a checkpoint's files are for another bucket count than their partition has got since, and not for
	// the one that option bucket asks for: the schema is read again, and the records with it.
	ErrRescaled = errors.New("the table has got another number of buckets")
	// ErrAltered says that another writer has changed the table so that the delta's files do not fit it: it has dropped or narrowed a column
	// that they have, or set another changelog producer. The schema is read again, and the records with it.
	ErrAltered = errors.New("another writer has altered the table")
	// ErrOvertaken says that another writer has committed rows to a bucket of the delta whose sequence numbers are not below those of
	// the delta's, which were given before: of a key in both, readers would take the other writer's row for the newer one. Or that it may
	// have: snapshots have expired since.
	ErrOvertaken = errors.New("another writer has numbered rows as this checkpoint does")
	// ErrNotRescaled says that option bucket asks for another bucket count than a partition of the delta has. The same
	// delta can be committed once the partition is rescaled.
	ErrNotRescaled = errors.New("option bucket was changed, but not the partition's files")
	// ErrStale says that the delta's oldest file is so old that another job's orphan cleaning may have removed it.
	ErrStale = errors.New("the checkpoint is too old to be committed")
	// ErrBusy says that others won every race for a snapshot id. The same delta may be tried again.
	ErrBusy = errors.New("other writers won every race for a snapshot id")
	// ErrUnsettled is joined to any of the others, and stands alone where nothing is known: a create of a snapshot that names
	// the delta's files was sent and its outcome is not certain, so nobody deletes those files. Alone it means that the
	// delta may be in the table: Resume tells.
	ErrUnsettled = errors.New("it is not known whether a snapshot was created")
)

// The reasons in a [StateError].
var (
	// ErrGone says that the table, or its schema, does not exist any more.
	ErrGone = errors.New("the table is gone")
	// ErrRolledBack says that a snapshot that this group made has been taken out of the table again.
	ErrRolledBack = errors.New("the table was rolled back")
	// ErrReplaced says that a snapshot is not the one it was: another writer has put its own in its place.
	ErrReplaced = errors.New("a snapshot was replaced")
	// ErrHistory says that older snapshots have expired and that none of this group's is left, so nothing tells how
	// far the table is.
	ErrHistory = errors.New("no snapshot of this group is left")
	// ErrBadProgress says that a snapshot of this group holds properties that cannot be read.
	ErrBadProgress = errors.New("the progress in a snapshot cannot be read")
)

// StateError says that the table is in a state that the sink does not go on from by itself, since rows could be lost or
// doubled: the table stops until someone has looked.
type StateError struct {
	Table  string // path of the table in its warehouse; the errors around it name it, too
	Err    error  // ErrGone, ErrRolledBack, ErrReplaced, ErrHistory or ErrBadProgress
	Detail string // what was found
	Hint   string // what to do
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%v: %s; %s", e.Err, e.Detail, e.Hint)
}

func (e *StateError) Unwrap() error { return e.Err }

// stateError makes a StateError of this table.
func (c *Committer) stateError(reason error, hint, format string, args ...any) error {
	return &StateError{Table: string(c.path), Err: reason, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// The ways out that several faults share.
const (
	hintRebase = "compare the table with its source, then `sink offsets rebase` says where to go on"
	hintWriter = "let one program at a time commit on a store without a lock, compare the table with its source, " +
		"then `sink offsets rebase` says where to go on"
)
