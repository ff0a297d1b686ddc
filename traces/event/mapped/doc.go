// Package mapped writes files through memory: what was stored survives the process, as
// what a system call wrote does, and costs no system call.
//
// See [File]. The machine is another matter: nothing here is flushed to a disk. Where a
// file cannot be mapped (the system has no mmap, or the file system), the same is done
// by writes.
package mapped
