// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/common/exportrun.h"
#include "app/common/reportdiagnosis.h"
#include "core/base/result.h"
#include "core/trace/notes.h"
#include "views/common/viewcontext.h"

#include <QString>

#include <filesystem>
#include <span>

namespace retro::app
{

/// A text between the tags or inside the attributes of HTML and XML: markup is escaped, and what XML cannot hold
/// (control characters, lone surrogates) becomes U+FFFD.
[[nodiscard]] QString htmlText(const QString& text);

/// One HTML file about a run that refers to nothing outside itself: what was asked, the best classes, heatmap, timeline
/// and ledger as the window draws them, what a diagnosis found, the ledger by cause, the nodes that lose most, and
/// notes. Well-formed as XML, too; light and dark as the reader's screen is, light on paper. `picture` says which
/// heatmap and at which position everything is taken. The timeline of `run` moves. Errors: Usage (what `picture` asks
/// for), Output.
[[nodiscard]] base::Result<QString> reportHtml(const views::RunHandle& run, std::span<const trace::Note> notes,
                                               const ExportRequest& picture = {},
                                               const ReportedDiagnosis& diagnosis = {});

/// Writes it as .html, through a temporary name. Errors: also Usage (ending).
[[nodiscard]] base::Result<void> writeReport(const std::filesystem::path& path, const views::RunHandle& run,
                                             std::span<const trace::Note> notes, const ExportRequest& picture = {},
                                             const ReportedDiagnosis& diagnosis = {});

} // namespace retro::app
