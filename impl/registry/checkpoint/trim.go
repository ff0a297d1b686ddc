package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/pace"
	"github.com/quorate/quorate/impl/registry/trace"
)

// ErrNotCovered: fewer images were found good than are to be kept.
var ErrNotCovered = errors.New("nothing is trimmed")

// Kept are the images that are kept, best first: of those that can be used as many as are
// to be kept. deep: each was read, and found to be what was committed; otherwise each is
// there, and as large.
func (m *Manager) Kept(ctx context.Context, deep bool) (kept []Commit, v View, err error) {
	if v, err = m.View(ctx); err != nil {
		return nil, v, err
	}
	commits, _, err := m.List(ctx)
	if err != nil {
		return nil, v, err
	}
	m.Rules.Order(commits)
	sizes := map[string]int64{}
	all, err := m.Objects.List(ctx, Prefix(v.Journal))
	if err != nil {
		return nil, v, fmt.Errorf("list the images: %w", err)
	}
	for _, o := range all {
		sizes[o.Key] = o.Size
	}
	p, seen := pace.New(m.Share), map[string]bool{}
	for _, c := range commits {
		if len(kept) == m.Keep {
			break
		}
		if seen[c.Key] || m.Rules.Usable(c, v) != nil || sizes[c.Key] != c.Size {
			continue
		}
		seen[c.Key] = true
		if deep {
			size, sum, err := m.digest(ctx, c.Key, p)
			if err == nil {
				err = m.Rules.Intact(c, size, sum)
			}
			if err != nil {
				slog.Error("an image is damaged", "id", c.ID, "key", c.Key, "err", err)
				m.Metrics.rejected(err)
				continue
			}
		}
		kept = append(kept, c)
	}
	return kept, v, nil
}

// Trimmed is what a trim did, or would do.
type Trimmed struct {
	// Start of the journal before, To up to where it may be trimmed.
	Start, To int64
	// Kept are the images on which that relies.
	Kept []Commit
}

// Trim has the journal start where the oldest image that is kept ends, all of which are
// read before. dry: it only says so. Errors: ErrNotCovered.
func (m *Manager) Trim(ctx context.Context, dry bool) (t Trimmed, err error) {
	kept, v, err := m.Kept(ctx, true)
	if err != nil {
		return t, err
	}
	t = Trimmed{Start: v.Start, To: m.Rules.TrimTo(kept, m.Keep), Kept: kept}
	if t.To < 0 {
		return t, fmt.Errorf("%s, and --keep asks for %d: %w", good(len(kept)), m.Keep, ErrNotCovered)
	}
	if dry || t.To <= t.Start {
		return t, nil
	}
	ids := make([]string, len(kept))
	for i, c := range kept {
		ids[i] = c.ID
	}
	m.record(trace.Event{Action: trace.TrimJournal, Offset: t.To, Start: v.Start, End: v.End, Journal: v.Journal, Kept: ids})
	start, err := m.Journal.TrimTo(ctx, t.To)
	if err != nil {
		return t, fmt.Errorf("trim the journal to %d: %w", t.To, err)
	}
	slog.Info("trimmed the journal", "from", t.Start, "to", start)
	m.Metrics.trimmed(start)
	return t, nil
}

func good(n int) string {
	if n == 1 {
		return "there is 1 good image"
	}
	return fmt.Sprintf("there are %d good images", n)
}

// Collect deletes images that nobody needs any more, and returns their keys. It reads those
// that are kept before: next to one that is damaged, an older one is needed.
func (m *Manager) Collect(ctx context.Context) (deleted []string, err error) {
	kept, v, err := m.Kept(ctx, true)
	if err != nil {
		return nil, err
	}
	all, err := m.Objects.List(ctx, Prefix(v.Journal))
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(kept))
	keys := make([]Commit, len(kept))
	for i, c := range kept {
		ids[i] = c.ID
		keys[i] = c
	}
	for _, o := range all {
		image := o.Key
		if strings.HasSuffix(image, manifestSuffix) {
			image = strings.TrimSuffix(image, manifestSuffix) + imageSuffix
		}
		if !m.Rules.Garbage(image, m.Now().Sub(o.Time), m.Grace, keys, m.Keep) {
			continue
		}
		offset, _ := OffsetOfKey(image)
		m.record(trace.Event{Action: trace.CollectGarbage, Key: o.Key, Offset: offset, Kept: ids})
		if err := m.Objects.Delete(ctx, o.Key); err != nil {
			return deleted, fmt.Errorf("delete %s: %w", o.Key, err)
		}
		deleted = append(deleted, o.Key)
	}
	if s, ok := m.Objects.(objects.Sweeper); ok {
		return deleted, s.Sweep(ctx, max(m.Grace, time.Hour))
	}
	return deleted, nil
}
