// Package config is the file sink.yaml: one struct, its defaults and its validation.
//
// What [Load] promises:
//
//  1. It is strict: an unknown key, a key twice, a wrong type or a bad value is a problem, never ignored.
//  2. It returns all problems of a file at once, each as a [Problem] with file, line, column, key and the way out.
//  3. A secret comes from the file itself, from a file of its own (key-file) or from the environment (key-env), and is
//     never printed: see [Secret].
//  4. In a secret, and in a user name beside it, a value that is ${NAME} and nothing else stands for the environment
//     variable NAME. Nothing else in the file is expanded.
//  5. Paths are relative to the folder of the file.
//
// The comments of the structs in config.go are the reference of the keys: docs/configuration.md is made of them.
package config
