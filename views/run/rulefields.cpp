// SPDX-License-Identifier: Apache-2.0
#include "views/run/rulefields.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/elidedlabel.h"

#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QSignalBlocker>
#include <QSlider>

namespace retro::views
{

namespace
{

/// No composite has more numbers to turn.
constexpr std::size_t kMostSettings = 2;

/// "1e-6", "0.25": short, as it is written in a composite.
QString shortText(double value)
{
    QString text = QLocale::c().toString(value, 'g', 3);
    return text.replace(QStringLiteral("e-0"), QStringLiteral("e-")).replace(QLatin1Char('-'), QStringLiteral("−"));
}

} // namespace

RuleFields::RuleFields(QWidget* parent) : QWidget(parent)
{
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(fonts::px(8));
    grid->setVerticalSpacing(fonts::px(4));
    grid->setColumnStretch(1, 1);
    for (std::size_t i = 0; i < kMostSettings; ++i) {
        addRow(*grid);
    }
    setSpecification({});
}

void RuleFields::addRow(QGridLayout& grid)
{
    Row row{new ElidedLabel({}, Role::Text2, fonts::label(), this),
            new QSlider(Qt::Horizontal, this),
            new QLabel(this),
            {}};
    row.slider->setRange(0, kSliderSteps);
    row.slider->setPageStep(kSliderSteps / 12);
    row.slider->setTracking(false); // a run is asked for when the knob is let go
    row.name->setBuddy(row.slider);
    row.figure->setFont(fonts::numbers());
    row.figure->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    row.figure->setMinimumWidth(static_cast<int>(fonts::widthOf(fonts::numbers(), QStringLiteral("1e−12"))) + 1);
    const int line = grid.rowCount();
    grid.addWidget(row.name, line, 0);
    grid.addWidget(row.slider, line, 1);
    grid.addWidget(row.figure, line, 2);
    const std::size_t at = m_rows.size();
    m_rows.push_back(row);
    connect(row.slider, &QSlider::sliderMoved, this,
            [this, at](int position) { m_rows[at].figure->setText(shortText(m_rows[at].setting.at(position))); });
    connect(row.slider, &QSlider::valueChanged, this, [this, at](int position) { turn(at, position); });
}

void RuleFields::setSpecification(const QString& specification)
{
    m_specification = specification;
    const std::vector<RuleSetting> settings = settingsOf(baseOf(specification));
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const bool isUsed = i < settings.size();
        for (QWidget* part : {static_cast<QWidget*>(m_rows[i].name), static_cast<QWidget*>(m_rows[i].slider),
                              static_cast<QWidget*>(m_rows[i].figure)}) {
            part->setVisible(isUsed);
        }
        if (isUsed) {
            showRow(m_rows[i], settings[i]);
        }
    }
    setVisible(!settings.empty());
}

void RuleFields::showRow(Row& row, const RuleSetting& setting)
{
    row.setting = setting;
    row.name->setText(setting.title);
    row.name->setMinimumWidth(row.name->sizeHint().width());
    row.slider->setAccessibleName(setting.title);
    row.slider->setToolTip(setting.tip);
    const double value = settingIn(m_specification, setting.key).value_or(setting.usual);
    row.figure->setText(shortText(value));
    if (!row.slider->isSliderDown()) {
        const QSignalBlocker quiet(row.slider);
        row.slider->setValue(setting.positionOf(value));
    }
}

void RuleFields::turn(std::size_t at, int position)
{
    const RuleSetting& setting = m_rows[at].setting;
    const bool isUsual = position == setting.positionOf(setting.usual);
    const double turned = isUsual ? setting.usual : setting.at(position);
    m_rows[at].figure->setText(shortText(turned));
    m_specification = withSetting(m_specification, setting.key, isUsual ? std::nullopt : std::optional(turned));
    emit changed();
}

} // namespace retro::views

#include "moc_rulefields.cpp"
