// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/findingschip.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/docktitle.h"
#include "views/diagnose/diagnosewords.h"

#include <QDockWidget>

namespace retro::app
{

FindingsChip::FindingsChip(QWidget* parent) : QToolButton(parent)
{
    setObjectName(QStringLiteral("findings"));
    setAutoRaise(true);
    setFont(views::fonts::label());
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setIcon(views::icons::icon(QStringLiteral("warning")));
    setFocusPolicy(Qt::TabFocus);
    hide();
}

void FindingsChip::take(const views::DiagnosisState& state)
{
    std::size_t number = 0;
    QStringList first;
    for (const diagnosis::Finding& finding :
         state.diagnosis ? state.diagnosis->findings : std::vector<diagnosis::Finding>()) {
        if (finding.level != diagnosis::Level::Note && !state.setAside.contains(views::keyOf(finding))) {
            ++number;
            first << QString::fromStdString(finding.place.name + " " + finding.what);
        }
    }
    setVisible(number > 0);
    setEnabled(!state.isStale);
    setText(QString::number(number));
    setToolTip(first.mid(0, 3).join(QLatin1Char('\n')));
    setAccessibleName(tr("Diagnosis: %1").arg(views::countsText(state)));
}

FindingsChip* addFindingsChip(const QWidget& view)
{
    const auto* dock = qobject_cast<const QDockWidget*>(view.parentWidget());
    auto* title = dock == nullptr ? nullptr : qobject_cast<views::DockTitle*>(dock->titleBarWidget());
    if (title == nullptr) {
        return nullptr;
    }
    auto* chip = new FindingsChip(title);
    title->addTool(chip);
    return chip;
}

} // namespace retro::app
