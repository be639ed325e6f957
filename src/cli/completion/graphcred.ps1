# graphcred completion for PowerShell; add to $PROFILE: graphcred completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName graphcred -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  # An empty last word is written as a quoted pair of quotes, which every version passes on.
  $last = if ($wordToComplete -eq '') { if ($PSVersionTable.PSVersion -ge [version]'7.3') { '' } else { '""' } } else { $wordToComplete }
  # With no answer PowerShell offers files.
  graphcred __complete @words $last 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
    $word, $text = $_ -split "`t", 2
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $(if ($text) { $text } else { $word }))
  }
}
