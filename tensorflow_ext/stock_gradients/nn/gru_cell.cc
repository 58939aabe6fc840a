// A gated recurrent unit cell (Cho et al., "Learning phrase representations using RNN
// encoder-decoder", 2014), as in TensorFlow's kernel:
//
//   [r u] = sigmoid([x h_prev] w_ru + b_ru),
//   c = tanh([x r h_prev] w_c + b_c),
//   h = u h_prev + (1 - u) c.

#include "tensorflow_ext/gradient/bridge/register_formula.h"
#include "tensorflow_ext/stock_gradients/nn/recurrent.h"

namespace tensorflow_ext {
namespace {

// GRUBlockCell(x, h_prev, w_ru, w_c, b_ru, b_c) returns r, u, c and h.
void GruBlockCellGrad(Gradient& g) {
  const Value x = g.Input(0), h_prev = g.Input(1), w_ru = g.Input(2);
  const Value w_c = g.Input(3);
  const Value r = g.Output(0), u = g.Output(1), c = g.Output(2);
  const Value dh = g.Upstream(3);

  const Value dc = g.Upstream(2) + dh * (1 - u);
  const Value dc_bar = dc * TanhSlope(c);
  const auto [dx_of_c, d_reset] = Apart(MatMul(dc_bar, w_c, false, true), x);
  const Value dr = g.Upstream(0) + d_reset * h_prev;
  const Value du = g.Upstream(1) + dh * (h_prev - c);
  const Value dru_bar = Beside({dr * LogisticSlope(r), du * LogisticSlope(u)});
  const auto [dx_of_ru, dh_of_ru] = Apart(MatMul(dru_bar, w_ru, false, true), x);
  g.Return({dx_of_c + dx_of_ru, dh_of_ru + d_reset * r + dh * u,
            MatMul(Beside({x, h_prev}), dru_bar, true),
            MatMul(Beside({x, h_prev * r}), dc_bar, true), SumOverBatch(dru_bar),
            SumOverBatch(dc_bar)});
}
REGISTER_GRADIENT("GRUBlockCell", GruBlockCellGrad);

// GRUBlockCellGrad(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, dh) returns dx, dh_prev, dc_bar and
// [dr_bar du_bar], with the names from above:
//
//   dc_bar = dh (1 - u) (1 - c^2),      du_bar = dh (h_prev - c) u (1 - u),
//   [dx_of_c d_reset] = dc_bar w_c^T,   dr_bar = d_reset h_prev r (1 - r),
//   [dx_of_ru dh_of_ru] = [dr_bar du_bar] w_ru^T.
//
// A name that begins with "to" is the gradient for the named value.
void GruBlockCellGradGrad(Gradient& g) {
  const Value x = g.Input(0), h_prev = g.Input(1), w_ru = g.Input(2);
  const Value w_c = g.Input(3), r = g.Input(6), u = g.Input(7);
  const Value c = g.Input(8), dh = g.Input(9);
  const Value to_dx = g.Upstream(0), to_dh_prev = g.Upstream(1);

  const Value slope_r = LogisticSlope(r), slope_u = LogisticSlope(u);
  const Value slope_c = TanhSlope(c), rest = h_prev - c;
  const Value dc_bar = dh * (1 - u) * slope_c;
  const Value d_reset = Apart(MatMul(dc_bar, w_c, false, true), x).second;
  const Value dru_bar = Beside({d_reset * h_prev * slope_r, dh * rest * slope_u});

  const Value to_both = Beside({to_dx, to_dh_prev});
  const auto [to_dr_bar, to_du_bar] = Apart(g.Upstream(3) + MatMul(to_both, w_ru), h_prev);
  const Value to_d_reset = to_dh_prev * r + to_dr_bar * h_prev * slope_r;
  const Value to_both_of_c = Beside({to_dx, to_d_reset});
  const Value to_dc_bar = g.Upstream(2) + MatMul(to_both_of_c, w_c);

  const Value to_h_prev = to_dr_bar * d_reset * slope_r + to_du_bar * dh * slope_u;
  const Value to_r = d_reset * (to_dh_prev + to_dr_bar * h_prev * (1 - 2 * r));
  const Value to_u = dh * (to_dh_prev - to_dc_bar * slope_c + to_du_bar * rest * (1 - 2 * u));
  const Value to_c = -(dh * (to_dc_bar * (1 - u) * 2 * c + to_du_bar * slope_u));
  const Value to_dh = to_dh_prev * u + to_dc_bar * (1 - u) * slope_c + to_du_bar * rest * slope_u;
  g.Return({Value(), to_h_prev, MatMul(to_both, dru_bar, true), MatMul(to_both_of_c, dc_bar, true),
            Value(), Value(), to_r, to_u, to_c, to_dh});
}
REGISTER_GRADIENT("GRUBlockCellGrad", GruBlockCellGradGrad);

}  // namespace
}  // namespace tensorflow_ext
