package manifest

import (
	"errors"
	"fmt"

	"sink/table"
)

// Files folds manifest entries into live files. The zero value is empty and ready. It remembers the identities of
// deleted files, too, because none of them may come again.
type Files struct {
	at    map[Identity]int // index in files; deleted for one that is gone
	files []table.File
	gone  int // files that are deleted, marked by an empty name
}

// deleted stands for the index of a file that is gone.
const deleted = -1

// The ways in which an entry can fail to fit the ones before it. All tell of a broken table or of a conflict.
var (
	errAddedTwice   = errors.New("file is added twice")
	errAddedAgain   = errors.New("file is added again after it was deleted")
	errDeletedTwice = errors.New("file is deleted twice")
	errNotThere     = errors.New("file is deleted but was never added")
)

// misfit names the file of an entry that does not fit.
func misfit(err error, f *table.File) error {
	return fmt.Errorf("%w: %s in bucket %d at level %d", err, f.Name, f.Bucket.Number, f.Level)
}

// Apply folds one entry. It fails, and changes nothing, when the entry adds a file for the second time or deletes one that
// is not live.
func (l *Files) Apply(e *Entry) error {
	id := IdentityOf(&e.File)
	i, seen := l.at[id]
	switch {
	case e.File.Name == "":
		return errors.New("file has no name")
	case e.Kind == Add && !seen:
		if l.at == nil {
			l.at = make(map[Identity]int)
		}
		l.at[id] = len(l.files)
		l.files = append(l.files, e.File)
		return nil
	case e.Kind == Add && i == deleted:
		return misfit(errAddedAgain, &e.File)
	case e.Kind == Add:
		return misfit(errAddedTwice, &e.File)
	case !seen:
		return misfit(errNotThere, &e.File)
	case i == deleted:
		return misfit(errDeletedTwice, &e.File)
	}
	l.at[id] = deleted
	l.files[i] = table.File{}
	if l.gone++; l.gone > 1024 && l.gone > len(l.files)/2 {
		l.compact()
	}
	return nil
}

// compact closes the gaps that deleted files left.
func (l *Files) compact() {
	kept := make([]table.File, 0, len(l.files)-l.gone)
	for i := range l.files {
		if l.files[i].Name != "" {
			l.at[IdentityOf(&l.files[i])] = len(kept)
			kept = append(kept, l.files[i])
		}
	}
	l.files, l.gone = kept, 0
}

// Has reports whether a file is live.
func (l *Files) Has(id Identity) bool {
	i, seen := l.at[id]
	return seen && i != deleted
}

// Len returns the number of live files.
func (l *Files) Len() int { return len(l.files) - l.gone }

// All returns the live files in the order in which they were added. The slice is good until the next Apply.
func (l *Files) All() []table.File {
	if l.gone > 0 {
		l.compact()
	}
	return l.files
}

// Live folds the entries of a snapshot, base before delta, into its live files in the order of their adding.
func Live(entries []Entry) ([]table.File, error) {
	var l Files
	for i := range entries {
		if err := l.Apply(&entries[i]); err != nil {
			return nil, err
		}
	}
	return l.All(), nil
}
