package core
import "testing"
func TestLong(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		for seed := uint64(100); seed < 500; seed++ {
			chaos(t, seed, 1+int(seed)%5, change)
			if t.Failed() { t.Fatal(seed) }
		}
	})
}
