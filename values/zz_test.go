package values
import ("testing";"strings";"fmt")
func TestZZ(t *testing.T){ var b strings.Builder; for i:=range 60000 { fmt.Fprintf(&b,"a%d: &a%d x\n",i,i)}; _,err:=Parse("x",[]byte(b.String())); t.Log(err)}
