// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::views
{

/// Gives all text another size while the program runs, 1 = 13 px. Lengths follow the text (fonts::px), and widgets took
/// theirs when they were made: fonts, margins, gaps, least and greatest sizes, columns and icons of every widget are
/// set anew from the design lengths that they stand for, and every view is brought up to date. GUI thread.
void setTextSize(double scale);

} // namespace retro::views
