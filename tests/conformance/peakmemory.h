// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::conformance
{

/// Most memory that this process held since the last call, in KiB. The mark is set back to what is held now.
///
/// An ordinary build asks the kernel. A sanitizer keeps what the program gave back, to find who still uses it: there it
/// is what the program itself had asked for, true to a MiB per thread.
[[nodiscard]] long takePeakKiB();

} // namespace retro::conformance
