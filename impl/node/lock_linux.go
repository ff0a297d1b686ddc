package node

// setLock is F_OFD_SETLK: a lock of the open file and not of the process, which would
// lose it when any of its files of that name is closed.
const setLock = 37
