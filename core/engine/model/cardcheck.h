// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"

namespace retro::engine
{

/// Whether what the card of a model says of its explanation can be: a composite that there is and can be read, files
/// inside the card's folder, a target that the model has. Errors (Input) name the card and the field.
[[nodiscard]] base::Result<void> checkCard(const LoadedModel& model);

} // namespace retro::engine
