// Package object is where a table's bytes live: a local disk, an S3 server or memory, behind one interface.
//
// What every store promises, and the acceptance suite checks:
//
//   - An object is there whole or not at all: a reader never sees a part of it.
//   - Create makes an object only if there is none of that name; of many racing callers exactly one succeeds.
//   - Once Put, Create, Copy or Writer.Close has returned without an error, the object is durable.
//   - An error of Put, Create, Copy or Close does not mean that nothing happened: ask again (see commit).
package object
