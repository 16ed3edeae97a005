-- Defines :VeloSpec; the module itself is loaded when it is first used.
if vim.g.loaded_velospec then
  return
end
vim.g.loaded_velospec = 1

vim.api.nvim_create_user_command('VeloSpec', function(args)
  require('velospec').command(args.args, args.range > 0 and { first = args.line1, last = args.line2 } or nil)
end, {
  nargs = '*',
  range = true,
  desc = 'VeloSpec: status, why, workspace, restart, enable, disable, edit, docstring, rename-suggest',
  complete = function(lead, line)
    local what = line:match('VeloSpec%s+workspace%s+(.*)$')
    if what then
      local begun = what:sub(1, #what - #lead)
      return vim.iter(require('velospec.workspace').names()):filter(function(name)
        return vim.startswith(name, what)
      end):map(function(name)
        return name:sub(#begun + 1)
      end):totable()
    end
    if line:match('VeloSpec%s+%S+%s') then
      return {} -- an instruction is the user's own
    end
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, require('velospec').commands())
  end,
})
