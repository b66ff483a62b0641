// SPDX-License-Identifier: Apache-2.0
// moc 6.4 reads this first: it cannot read libstdc++'s <compare> and <concepts> unless another standard header came
// before them.
#pragma once

#include <cstddef>
