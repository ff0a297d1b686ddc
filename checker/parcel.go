package checker

import (
	"fmt"
	"unsafe"
)

// parcel holds a state of any type that is not too large. A search over parcels is
// compiled once; one over states is compiled for each type of states, in each package
// that has such a type. What is asked now and then does with parcels.
type parcel [parcelWords]uint64

const parcelWords = 64

// checkParcel says whether states of type S fit in parcels.
func checkParcel[S any]() error {
	var s S
	if size := unsafe.Sizeof(s); size > parcelWords*8 {
		return fmt.Errorf("states of type %T have %d bytes; such questions can be asked of states of at most %d", s, size, parcelWords*8)
	}
	return nil
}

// parcelOf wraps a state.
func parcelOf[S any](s *S) (p parcel) {
	*opened[S](&p) = *s
	return p
}

// opened is the state in a parcel.
func opened[S any](p *parcel) *S { return (*S)(unsafe.Pointer(p)) }
