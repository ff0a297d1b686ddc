package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// GuardDeletion is one guard of a concern taken away, and what came of it.
type GuardDeletion struct {
	// Guard is Action.Guard.
	Guard string
	// Property that notices, in Model; empty if none does.
	Property, Model string
	// Reason why nobody has to; empty if nobody has given one.
	Reason string
}

// DeletionModels are small models of the concerns, the smallest first: guards are taken
// away in them.
var DeletionModels = map[string][]string{
	"bootstrap": {"bootstrap-format", "bootstrap-cases-atomic", "bootstrap-mixed", "bootstrap-reformat"},
	"clusterid": {"cluster-id-start", "cluster-id-operator", "cluster-id-disks"},
	"kafkasql": {
		"kafkasql-a-service", "kafkasql-t-local-behind", "kafkasql-t-early", "kafkasql-t-damage-gc", "kafkasql-t-local", "kafkasql-t", "kafkasql-b-capture",
		"kafkasql-t-clients", "kafkasql-a-clock", "kafkasql-t-damage", "kafkasql-t-store",
	},
}

// GuardDeletions takes away each guard of a concern that makes a difference in the given
// models, which are explored one after the other until one notices.
func GuardDeletions(c *concern.Concern, models []string, workers int) ([]GuardDeletion, error) {
	clean := map[string]*checker.Result{}
	run := func(model, guard string, opt checker.Options) (*checker.Result, error) {
		s, err := Runnable(c, model, concern.Variant{Guard: guard})
		if err != nil {
			return nil, err
		}
		opt.Workers = workers
		return s.Run(opt)
	}
	for _, m := range models {
		res, err := run(m, "", checker.Options{})
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m, err)
		}
		clean[m] = res
	}
	var all []GuardDeletion
	for _, g := range c.Guards {
		if action, _, _ := strings.Cut(g, "."); slices.Contains(c.Mutants, action) {
			continue // only a mutation takes it
		}
		d, differs := GuardDeletion{Guard: g}, false
		for _, m := range models {
			was := clean[m]
			res, err := run(m, g, checker.Options{MaxDistinct: 5 * was.Distinct})
			var outside *checker.ModelError
			switch {
			case errors.As(err, &outside):
				d.Property = "model error"
			case err != nil:
				return nil, fmt.Errorf("model %s without %s: %w", m, g, err)
			case len(res.Violations) > 0:
				d.Property = res.Violations[0].Property
			case res.Status == checker.Limit:
				differs = true // a larger protocol, and so far not a wrong one
			default:
				differs = differs || res.Distinct != was.Distinct || res.Generated != was.Generated
				for _, p := range res.Never() {
					if !slices.Contains(was.Never(), p) {
						d.Property = p + " never reached"
					}
				}
			}
			if d.Property != "" {
				d.Model = m
				break
			}
		}
		if d.Property == "" && !differs {
			continue
		}
		if d.Property == "" {
			d.Reason = unmissed[c.Name+" "+g]
			if d.Reason == "" {
				_, guard, _ := strings.Cut(g, ".")
				d.Reason = unmissed[c.Name+" *."+guard]
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// unmissed says why nobody misses a guard of a concern in the models tried.
var unmissed = map[string]string{
	// Who is down, and who does what twice.
	"bootstrap *.IsUp":                          "what a controller does that is down it could do right after its start: log and files are the same",
	"bootstrap Elect.VoterIsUp":                 "a vote of who is down is one that it could give right after its start",
	"bootstrap Elect.NotLeading":                "a leader that is elected again only begins another epoch",
	"bootstrap Elect.LogUpToDate":               "shown by CommittedStable in bootstrap-failover-atomic, a larger model",
	"bootstrap BeginFormat.NotFormatting":       "a run that begins anew replaces all that the one before it has written",
	"bootstrap Start.NotFormatting":             "meta.properties has its name from the last rename on, and only a flush is left of the run",
	"bootstrap Start.IsFormatted":               "that who is not formatted does not run is judged in cluster ids (BootstrapNeedsFormat)",
	"bootstrap Crash.IsRunning":                 "a second loss of power changes nothing",
	"bootstrap *.IsLeader":                      "what is appended by who does not lead is cut when it follows, and not counted before",
	"bootstrap *.LeaderChangeMissing":           "a second LeaderChange of an epoch commits what the first does",
	"bootstrap *.LeaderLeads":                   "records of who has led are cut again when there is a leader",
	"bootstrap *.NotStale":                      "records of an older leader are cut again when there is a newer one",
	"bootstrap *.NotBelowLog":                   "records below a log start are kept as ghosts, and are those of the snapshot",
	"bootstrap Commit.EpochCommitted":           "figure 8, which is shown where elections are real: pair-election-commit, and the models of package spec",
	"bootstrap *.HasMore":                       "what has been replayed is not replayed again: Loaded does not go back below a snapshot",
	"bootstrap AdvanceLogStart.SnapshotIsLater": "the log start goes where it is",
	"bootstrap *.HasFile":                       "removing a file that is not there changes nothing that a property can see",
	"clusterid Start.IsDown":                    "a second start reads the same directories, and forgets what is in memory",
	"clusterid WriteMeta.IsOnline":              "a directory that is offline is not asked again before the next start, which writes what is missing",
	"clusterid WriteMeta.NotWritten":            "the same is written again",
	"clusterid WriteMeta.DataFirst":             "the order makes it plain that all were tried; PersistFirst asks for all in any order",
	"clusterid FlushMeta.SomethingToFlush":      "a flush of what is on disk does nothing",
	"clusterid *.NotWritten":                    "the same is written again",
	"clusterid Fetch.IsEndpoint":                "whoever is asked compares the id, and a node without one drops its log when it turns to another leader",
	"clusterid Adopt.IsUnknown":                 "a node that knows its id adopts the same one",
	"clusterid Adopt.IDCommitted":               "shown by CommittedOnly in cluster-id-booting-both, a larger model",
	"clusterid Register.NotRegistered":          "a second registration is refused or changes nothing",
	"clusterid *.IsObserver":                    "a voter that joins is a voter",
	"clusterid *.NotVoter":                      "a voter that joins is a voter",
	"clusterid *.HasLeader":                     "an operator may add a node that nobody leads: it stands only when it knows its id",
	"clusterid AddVoter.IsReady":                "an operator may add a node that does not run yet: it stands only when it knows its id",
	"clusterid Stand.NotStanding":               "who stands stands",
	"clusterid Stand.IsVoter":                   "who votes is counted by the voter set, in package spec",
	"clusterid PeerError.IsVoter":               "an error that a peer sends to no voter is ignored as well",
	"clusterid Timeout.IsWaiting":               "a deadline that passes for nothing ends a process, which is a crash",
	"clusterid Crash.NotDown":                   "a second loss of power changes nothing",
	"clusterid LoseDirectory.HasFile":           "a directory that is empty is replaced by another empty one",
	"clusterid *.LeaderChangePresent":           "records in front of a LeaderChange are committed with it",
	"clusterid DowngradeFeatures.HasVersion":    "a downgrade of what is down already drops no id",

	"kafkasql Append.NotWaiting":          "a second client's write; the first one is answered when it asks again",
	"kafkasql Append.NotUnsure":           "as NotWaiting: what was not acknowledged may be there or not",
	"kafkasql FetchImage.IsChosen":        "what is fetched again is what the store has then, and is judged again",
	"kafkasql Apply.NotCapturing":         "the copy is of the moment at which it began; with one that shows its end this is dump-beside-applying",
	"kafkasql Apply.RecordIsThere":        "the model still has what a record said that is trimmed; who goes by it is up to date",
	"kafkasql BeginCapture.IsReady":       "an instance that replays has a prefix of the journal too, and an image of that is an image",
	"kafkasql BeginCapture.NoAttempt":     "the attempt before it is lost, as by a crash",
	"kafkasql *.HasApplied":               "an image of nothing is an image: a start from it replays the journal from its beginning",
	"kafkasql VerifyUpload.IsUploaded":    "what is not all there is not intact",
	"kafkasql AbandonAttempt.IsUploaded":  "an attempt may be given up at any time (kafkasql-t-fails)",
	"kafkasql AbandonAttempt.NotIntact":   "an attempt may be given up at any time (kafkasql-t-fails)",
	"kafkasql SendRequest.IsReady":        "as BeginCapture: who replays has an image to make as well",
	"kafkasql SendRequest.LockFree":       "a request too many costs time: quiet-restarts is about that",
	"kafkasql SendRequest.NobodyFirst":    "as LockFree",
	"kafkasql SendRequest.NoAttempt":      "as LockFree",
	"kafkasql ConfirmRequest.IsRequested": "who confirms without having asked asks thereby",
	"kafkasql ConfirmRequest.IsFirst":     "the lock is taken by who has read all, and the others read that",
	"kafkasql LeaseExpires.IsReady":       "who is restoring judges as well what it has read",
	"kafkasql LeaseExpires.NotOwn":        "who takes its own request for expired asks again",
	"kafkasql LeaseExpires.HasReadAll":    "with clocks that can be relied upon IsSilent covers it; without them it is lag-with-leases, which does no harm",
	"kafkasql Crash.IsUp":                 "what has ended ends again",
}
