package spec
import ("testing";"github.com/quorate/quorate/checker")
func TestTmpSize(t *testing.T){
 for _, m := range []*Model{named(t, "single"), named(t, "commit"), named(t, "vote-restart"), proofPreVote, proofLate, proofResign, proofFour, proofFive,
  {Name:"pv1",Voters: 2, PreVote: All(2), Epochs: 1, Crashes: 1, StaysDown: true, InFlight: 1,Silent: Kinds(BeginQuorumEpoch, Fetch),MergeFlush:true},
  {Name:"pv1late",Voters: 2, PreVote: All(2), Epochs: 1, Crashes: 1, Late:1, StaysDown: true, InFlight: 2,Silent: Kinds(BeginQuorumEpoch, Fetch, EndQuorumEpoch),MergeFlush:true},
  {Name:"pv2s",Voters: 2, PreVote: All(2), Epochs: 2, Crashes: 1, StaysDown: true, InFlight: 1,Silent: Kinds(BeginQuorumEpoch, Fetch),MergeFlush:true, Stand:stand(justA,justB)},
  {Name:"late1",Voters: 3, Epochs: 1, Crashes: 1, Late: 1, InFlight: 2, Stand: stand(aOrC), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true},
  {Name:"late1i1",Voters: 3, Epochs: 1, Crashes: 1, Late: 1, InFlight: 1, Stand: stand(aOrC), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true},
  {Name:"late2imm",Voters: 3, Epochs: 2, Late: 1, InFlight: 1, Stand: stand(justA,justC), Silent: Kinds(BeginQuorumEpoch, Fetch), Immediate: Kinds(BeginQuorumEpoch,Fetch), MergeFlush: true},
  {Name:"late2pair",Voters: 2, Epochs: 2, Late: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch, Fetch), Immediate: Kinds(BeginQuorumEpoch,Fetch), MergeFlush: true},
  {Name:"four1",Voters: 4, Epochs: 1, InFlight: 1, Stand: stand(aOrC), Silent: Kinds(BeginQuorumEpoch, Fetch), Immediate: Kinds(BeginQuorumEpoch,Fetch), MergeFlush: true},
  {Name:"five1",Voters: 5, Epochs: 1, Late:1, InFlight: 2, Stand: stand(justA), Silent: Kinds(BeginQuorumEpoch, Fetch), Immediate: Kinds(BeginQuorumEpoch,Fetch), MergeFlush: true},
  {Name:"res", Voters: 2, PreVote: All(2), Epochs: 2, Resigns: 1, InFlight: 1,Silent: Kinds(BeginQuorumEpoch, Fetch), Immediate: Kinds(BeginQuorumEpoch,Fetch), MergeFlush: true},
  {Name:"mixed", Voters: 2, PreVote: justA, Epochs: 2, InFlight: 1,Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true, Stand: stand(justA,justB)},
  } {
  res, err := checker.Run(checker.Interned[Replica,Msg,gave](newProofSystem(m, Variant{})), checker.Options{MaxDistinct: 300000})
  if err!=nil { t.Log(m.Name, err); continue }
  t.Logf("%-14s %8d depth %d %s", m.Name, res.Distinct, res.Depth, m.Constants())
 }
}
